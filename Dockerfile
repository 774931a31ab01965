# One image for the server and its workers: `hloscope serve`, `hloscope worker`, `hloscope admin`.
FROM python:3.11-slim-bookworm AS build
WORKDIR /build
COPY requirements-scale.lock ./
RUN python -m venv /opt/hloscope \
    && /opt/hloscope/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements-scale.lock
COPY LICENSE README.md pyproject.toml hloscope.py ./
COPY app app
COPY hlo_parser hlo_parser
COPY sample_dumps sample_dumps
COPY static static
COPY templates templates
RUN /opt/hloscope/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin hloscope \
    && install --directory --owner=hloscope --mode=0700 /data
COPY --from=build /opt/hloscope /opt/hloscope
ENV PATH=/opt/hloscope/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    HLOSCOPE_DATA_DIR=/data \
    HLOSCOPE_LOG_JSON=true
# By number: who asks for a user that is not root must see that it is none.
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8765
STOPSIGNAL SIGTERM
ENTRYPOINT ["hloscope"]
CMD ["serve", "--host", "0.0.0.0"]
