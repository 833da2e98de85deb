export type { RedisClient } from './client.js';
export { redisNotifications } from './notifications.js';
export type { RedisListener } from './notifications.js';
export { redisLog } from './redisLog.js';
export type { RedisLogOptions } from './redisLog.js';
