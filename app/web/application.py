"""The application: rooms put together at start, taken apart at the end."""

import asyncio
import functools
import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import metadata
from pathlib import Path

from fastapi import Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from app.errors import AppError
from app.jobs.choice import runner_for as runner_of_settings
from app.jobs.runner import Runner
from app.settings import Settings, static_dir
from app.store import NoSpace, Store, StoreUnavailable
from app.web import (
    api,
    comparing,
    operations,
    pages,
    passes,
    replaying,
    replays,
    resumable,
    share_pages,
    sharing,
    slices,
    texts,
    views,
)
from app.web.admission import admit
from app.web.description import describe
from app.web.guard import Guard
from app.web.metrics import Metrics
from app.web.problems import handle
from app.web.proxies import Proxies
from app.web.rates import Rate
from app.web.services import Services
from app.web.subpath import SubPath

_LOG = logging.getLogger(__name__)

_SWEEP_S = 3600.0

RunnerFor = Callable[[Store, Settings], Runner]


def create_app(
    settings: Settings,
    *,
    store: Store | None = None,
    runner_for: RunnerFor = runner_of_settings,
    own_folders: Mapping[str, tuple[Path, ...]] | None = None,
) -> FastAPI:
    """The application; jobs are run while its lifespan lasts.

    `store` is used and left open where it is given; else the one of `settings.data_dir` is opened
    and closed with the lifespan. `runner_for` makes what runs the jobs,
    `own_folders` is told in `Services`.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            opened = store
            if opened is None:
                opened = await run_in_threadpool(Store.of, settings)
                stack.push_async_callback(run_in_threadpool, opened.close)
            runner = runner_for(opened, settings)
            services = app.state.services = Services(
                settings=settings,
                store=opened,
                runner=runner,
                upload_rate=Rate(settings.max_uploads_per_hour, 3600.0),
                stopping=app.state.stopping,
                own_folders=own_folders or {},
            )
            stack.callback(services.shelf.close)
            stack.push_async_callback(run_in_threadpool, runner.stop)
            runner.start()
            sweeping = asyncio.create_task(_sweep(opened, settings.report_days))
            stack.callback(sweeping.cancel)
            yield

    app = FastAPI(
        title="hloscope",
        version=metadata.version("hloscope"),
        description="Send an XLA dump and the log of the failed run; read what happened.",
        lifespan=lifespan,
        openapi_url="/api/v1/openapi.json",
        # Their pages load scripts from elsewhere; /api is our own.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.stopping = threading.Event()
    app.state.metrics = Metrics()
    app.state.looked = operations.Looked()
    routers = (
        api.router,
        resumable.router,
        sharing.router,
        share_pages.router,
        replaying.router,
        slices.router,
        replays.router,
        comparing.router,
        comparing.page_router,
        operations.router,
        pages.router,
        texts.router,
        views.router,
        passes.router,
    )
    for router in routers:
        app.include_router(router, dependencies=[Depends(admit)])
    app.state.routes = [route for router in routers for route in router.routes]
    app.openapi = functools.partial(describe, app)
    app.mount("/static", StaticFiles(directory=static_dir()), name="static")
    for kind in (AppError, NoSpace, StoreUnavailable, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, handle)
    app.add_middleware(GZipMiddleware, minimum_size=2048, compresslevel=5)
    app.add_middleware(Guard, settings=settings, metrics=app.state.metrics)
    app.add_middleware(SubPath, settings=settings)
    app.add_middleware(Proxies, settings=settings)
    return app


async def _sweep(store: Store, report_days: int) -> None:
    """Delete what has had its days and what is left over, now and every hour."""
    while True:
        try:
            await run_in_threadpool(store.retire, report_days=report_days, now=time.time())
        except (OSError, StoreUnavailable):
            _LOG.exception("old reports could not be deleted; trying again in an hour")
        await asyncio.sleep(_SWEEP_S)
