import { Observable } from 'rxjs';

/** The scripts of `redisLog` notify this channel. */
const CHANNEL = 'rivulet';

/** A connection of its own to Redis: what `createClient(...)` of `redis` returns. */
export interface RedisListener {
  connect(): PromiseLike<unknown>;
  subscribe(channel: string, listener: (message: string) => void): PromiseLike<unknown>;
  on(event: 'ready', listener: () => void): unknown;
  on(event: 'error', listener: (thrown: Error) => void): unknown;
  destroy(): void;
}

/**
 * The notifications of `redis`, for the option `notifications` of `redisLog`. They need a connection of their own.
 *
 * ```ts
 * const log = redisLog(client, { notifications: redisNotifications(() => createClient({ url })) });
 * ```
 *
 * @param create Returns a client that is not connected yet. It is called at each subscription. The client connects
 * again by itself when its connection is lost.
 * @returns Emits the ids of runs, and an empty text each time it is connected. It fails if the client gives up.
 */
export const redisNotifications = (create: () => RedisListener): Observable<string> =>
  new Observable((out) => {
    const client = create();
    client.on('error', () => undefined); // the client connects again, and `ready` tells it
    client
      .connect()
      .then(() => client.subscribe(CHANNEL, (run) => out.next(run)))
      .then(
        () => {
          out.next('');
          client.on('ready', () => out.next(''));
        },
        (thrown: unknown) => out.error(thrown),
      );
    return () => client.destroy();
  });
