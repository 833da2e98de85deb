export type { PostgresClient, PostgresOptions } from './client.js';
export { migratePostgres, postgresMigrations } from './migration.js';
export type { PostgresMigration } from './migration.js';
export { pgliteNotifications, pgNotifications } from './notifications.js';
export type { PgListener, PgliteListener } from './notifications.js';
export { postgresLog } from './postgresLog.js';
export type { PostgresLogOptions } from './postgresLog.js';
export { postgresStore } from './postgresStore.js';
