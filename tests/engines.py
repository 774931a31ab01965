"""The engines of a scaled-out set for tests: PostgreSQL on a socket alone, and a server of S3.

Both keep what they hold over `kill` and `start`, as real ones do over a crash.
"""

import logging
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any, ClassVar

import boto3
import psycopg
from moto.server import ThreadedMotoServer
from psycopg import sql

_BINARIES = Path("/usr/lib/postgresql")
_PORT = 5432
_WAIT_S = 60.0


class Postgres:
    """A cluster in a folder of its own, which listens on a socket in it and nowhere else."""

    def __init__(self) -> None:
        versions = sorted(_BINARIES.glob("*/bin/initdb"))
        assert versions, "PostgreSQL is missing (on Debian: apt-get install postgresql)"
        self._bin = versions[-1].parent
        self._folder = Path(tempfile.mkdtemp(prefix="hloscope-pg-"))
        if os.geteuid() == 0:
            shutil.chown(self._folder, "postgres", "postgres")
        self._data = self._folder / "data"
        self._run("initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "-D", str(self._data))

    def start(self) -> None:
        """Start, also after `kill`, and wait until it answers."""
        options = f"-p {_PORT} -k {self._folder} -c listen_addresses='' -c fsync=off"
        options += " -c max_connections=200"
        deadline = time.monotonic() + _WAIT_S
        while not self._started(options):
            assert time.monotonic() < deadline, (self._folder / "log").read_text()
            time.sleep(0.2)

    def kill(self) -> None:
        """End it as a crash does."""
        pid = int((self._data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + _WAIT_S
        while Path(f"/proc/{pid}").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def close(self) -> None:
        """End it, and remove its folder."""
        self._run("pg_ctl", "-D", str(self._data), "-m", "immediate", "stop", check=False)
        shutil.rmtree(self._folder)

    def new_database(self) -> str:
        """The address of an empty database."""
        name = f"d{uuid.uuid4().hex}"
        place = f"host={self._folder} port={_PORT} user=postgres dbname=postgres"
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return f"postgresql://postgres@/{name}?host={self._folder}&port={_PORT}"

    def _started(self, options: str) -> bool:
        log = str(self._folder / "log")
        # What a killed one left running for a moment makes it fail: then it is tried again.
        return self._run(
            "pg_ctl", "-w", "-D", str(self._data), "-l", log, "-o", options, "start", check=False
        )

    def _run(self, program: str, *arguments: str, check: bool = True) -> bool:
        # It refuses to run as root.
        user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        # The server it starts would keep a pipe open for ever.
        with tempfile.TemporaryFile() as said:
            ended = subprocess.run(
                [*user, str(self._bin / program), *arguments],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                check=False,
            )
            said.seek(0)
            assert not check or ended.returncode == 0, said.read().decode()
        return ended.returncode == 0


class BucketServer:
    """A server of S3 in this process, with one bucket; `keys` are what it is asked with."""

    keys: ClassVar = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    bucket = "hloscope-test"

    def __init__(self) -> None:
        self._port = 0
        logging.getLogger("werkzeug").setLevel(logging.WARNING)

    def start(self) -> None:
        """Start, after `kill` at the same port and with what it held."""
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=self._port, verbose=False)
        self._server.start()
        first, self._port = not self._port, self._server.get_host_and_port()[1]
        if first:
            self.client().create_bucket(Bucket=self.bucket)

    def kill(self) -> None:
        """End it: nobody listens at its port any more."""
        self._server.stop()

    def new_place(self) -> str:
        """The address of an empty place in the bucket."""
        return f"s3://{self.bucket}/{uuid.uuid4().hex}?endpoint={self.endpoint}"

    @property
    def endpoint(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self._port}"

    def client(self) -> Any:
        """A client of another make than the product's."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=self.keys["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.keys["AWS_SECRET_ACCESS_KEY"],
        )

    def names(self, place: str) -> dict[str, int]:
        """Names below a place, and bytes of what stands there."""
        prefix = place.partition("?")[0].removeprefix(f"s3://{self.bucket}/") + "/"
        pages = (
            self.client()
            .get_paginator("list_objects_v2")
            .paginate(Bucket=self.bucket, Prefix=prefix)
        )
        return {
            item["Key"].removeprefix(prefix): item["Size"]
            for page in pages
            for item in page.get("Contents", [])
        }
