// Places orders with node-postgres, and publishes an event in the same transaction.

import pg from 'pg';

const PUBLISH = 'select gancho.publish($1, $2, $3, idempotency_key => $4, subject => $5) as id';

/** Returns the id of the event. Either both are stored, the order and the event, or neither. */
async function placeOrder(client, tenant, order, total) {
  await client.query('begin');
  try {
    await client.query('insert into orders (id, total) values ($1, $2)', [order, total]);
    const data = JSON.stringify({ id: order, total });
    const { rows } = await client.query(PUBLISH, [tenant, 'order.placed', data, `order-${order}`, order]);
    if (total < 0) throw new RangeError('a negative total');
    await client.query('commit');
    return rows[0].id;
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

/** The code of Gancho, e.g. `unknown_tenant`; undefined for other errors. */
function errorCode(error) {
  return error.code?.startsWith('WH') ? error.constraint : undefined;
}

const [tenant, order, total] = process.argv.slice(2);
const client = new pg.Client({ connectionString: process.env.DATABASE });
await client.connect();
try {
  console.log(await placeOrder(client, tenant, order, Number(total)));
} catch (error) {
  if (!errorCode(error) && !(error instanceof RangeError)) throw error;
  console.error(errorCode(error) ? `refused: ${errorCode(error)}` : `rolled back: ${error.message}`);
  process.exitCode = 1;
} finally {
  await client.end();
}
