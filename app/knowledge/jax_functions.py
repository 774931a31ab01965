"""Functions of JAX's own libraries that JAX compiles by themselves, by name.

A program outside of any jit runs through them: `jax.random.normal(...)` compiles `jit__normal`.
Names with an underscore only, since a user's function may be called `add` like one of JAX's. A name
missing here costs little: its module is then taken for the user's own. A name alone makes no module
JAX's: its size and what it computes have their say, too.
"""

from typing import Final

PRIVATE_FUNCTIONS: Final = frozenset(
    "_algorithm_11_1_1 _arccosh _argmax _argmin _bernoulli _beta _binom _binomial "
    "_binomial_inversion _bitwise_and _bitwise_or _bitwise_xor _broadcast_arrays _btrs "
    "_call_vectorized _cauchy _chisquare _cho_solve _cholesky _complex_loggamma_scipy "
    "_csr_to_coo _cumsum_with_promotion _cumulative_reduction _dirichlet _double_sided_maxwell "
    "_eigh _eigh_work _exponential _gamma _gaussian_kernel_eval _gen_associated_legendre "
    "_gen_derivatives _generalized_normal _geometric _geomspace _gumbel _hyp1f1_a_derivative "
    "_hyp1f1_b_derivative _hyp1f1_x_derivative _hyp2f1_a_derivative _hyp2f1_b_derivative "
    "_hyp2f1_c_derivative _hyp2f1_x_derivative _in1d _intersect1d_size _intersect1d_sorted_mask "
    "_laplace _linspace _lobpcg_standard_callable _lobpcg_standard_matrix _logical_and "
    "_logical_or _logical_xor _logistic _lognormal _logspace _lu _lu_solve _map_coordinates "
    "_maxwell _moveaxis _multi_slice _multivariate_normal _nanargmax _nanargmin _normal "
    "_normal_real _odeint_wrapper _orthogonal _pareto _per_batch _philox2x32_fold_in "
    "_philox2x32_random_bits _philox2x32_seed _philox2x32_split _philox4x32_fold_in "
    "_philox4x32_random_bits _philox4x32_seed _philox4x32_split _piecewise _pinv _poisson "
    "_poisson_knuth _poisson_rejection _polar_2d _qr _rademacher _randint _rayleigh _reduce_all "
    "_reduce_any _reduce_bitwise_and _reduce_bitwise_or _reduce_bitwise_xor _reduce_logical_and "
    "_reduce_logical_or _reduce_logical_xor _reduce_max _reduce_min _reduce_prod _reduce_sum "
    "_rfft_transpose _roll_dynamic _roll_static _roots_no_zeros _roots_with_zeros _rsf2csf_2d "
    "_scaled_matmul _schur _searchsorted_compare_all_impl _searchsorted_scan_impl "
    "_searchsorted_sort_impl _setxor1d_size _solve_sylvester_2d _solve_triangular _sph_harm "
    "_sqrtm _sqrtm_triu _squaring _svd _svd_tall_and_square_input _threefry4x32_fold_in "
    "_threefry4x32_random_bits _threefry4x32_seed _threefry4x32_split _threefry_fold_in "
    "_threefry_random_bits_original _threefry_seed _threefry_split _threefry_split_foldlike "
    "_threefry_split_original _triangular _truncated_normal _uniform _unique_sorted_mask "
    "_unstack _wald _weibull_min".split()
)
"""Decorated with `jit` in the sources of jax 0.4.28, 0.4.35 or 0.10.2; names as good for a user's
function (`_f`, `_run`, `_mean`, `_where`) are left out: small modules are told by their structure.
"""
