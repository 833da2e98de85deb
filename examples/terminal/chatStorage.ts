import { lastValueFrom } from 'rxjs';
import { migratePostgres, pgliteNotifications, postgresLog, postgresStore } from 'rivulet/postgres';
import { keepChats } from 'rivulet/service';
import type { AgentHandlerOptions } from 'rivulet/service';

/** What a service needs to keep its chats. */
export interface ChatStorage {
  readonly options: Pick<AgentHandlerOptions, 'store' | 'log' | 'chats' | 'checkpoints'>;
  readonly close: () => Promise<void>;
}

/**
 * Opens the chats of a folder, which is created if there is none. One process may use a folder at a time.
 *
 * PGlite is PostgreSQL compiled to WebAssembly, in this process. It is loaded here, since only this option needs it.
 */
export async function openChats(folder: string): Promise<ChatStorage> {
  const { PGlite } = await import('@electric-sql/pglite');
  const database = await PGlite.create(folder);
  await lastValueFrom(migratePostgres(database), { defaultValue: undefined });
  return {
    options: {
      store: postgresStore(database),
      log: postgresLog(database, { notifications: pgliteNotifications(database) }),
      chats: keepChats(postgresStore(database, { kind: 'chat' })),
      checkpoints: true, // a run that was cut off by a crash goes on
    },
    close: () => database.close(),
  };
}
