"""Places orders with SQLAlchemy, and publishes an event in the same transaction."""

import json
import os
import sys

from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

PUBLISH = text(
    "select gancho.publish(:tenant, :type, cast(:data as json), idempotency_key => :key, subject => :subject)"
)


def place_order(engine, tenant, order, total):
    """Returns the id of the event. Either both are stored, the order and the event, or neither."""
    with engine.begin() as connection:
        connection.execute(text("insert into orders (id, total) values (:id, :total)"), {"id": order, "total": total})
        data = json.dumps({"id": order, "total": total})
        event = {
            "tenant": tenant, "type": "order.placed", "data": data, "key": f"order-{order}", "subject": order,
        }
        id = connection.execute(PUBLISH, event).scalar_one()
        if total < 0:
            raise ValueError("a negative total")  # Rolls both back.
        return id


def error_code(error):
    """The code of Gancho, e.g. `unknown_tenant`; None for other errors of the database."""
    diagnostics = error.orig.diag
    return diagnostics.constraint_name if (diagnostics.sqlstate or "").startswith("WH") else None


def main():
    tenant, order, total = sys.argv[1:]
    engine = create_engine(os.environ["DATABASE"].replace("postgres://", "postgresql+psycopg://", 1))
    try:
        print(place_order(engine, tenant, order, int(total)))
    except DBAPIError as error:
        sys.exit(f"refused: {error_code(error)}")
    except ValueError as error:
        sys.exit(f"rolled back: {error}")


main()
