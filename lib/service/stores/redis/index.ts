export type { RedisClient } from './client.js';
export { redisNotifications } from './notifications.js';
export { redisLog } from './redisLog.js';
