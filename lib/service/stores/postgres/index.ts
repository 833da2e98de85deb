export type { PostgresClient } from './client.js';
export { migratePostgres, postgresMigrations } from './migration.js';
export { pgliteNotifications, pgNotifications } from './notifications.js';
export { postgresLog } from './postgresLog.js';
export { postgresStore } from './postgresStore.js';
