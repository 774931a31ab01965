"""Alembic's way in: runs the revisions on the connection that `app.store.database` hands over."""

from alembic import context

from app.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=False,
)
context.run_migrations()
