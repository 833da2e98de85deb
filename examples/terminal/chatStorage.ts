import { readFile, rm, writeFile } from 'node:fs/promises';
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
 * Opens the chats of a folder, which is created if there is none. It fails if another process uses the folder.
 *
 * PGlite is PostgreSQL compiled to WebAssembly, in this process. It is loaded here, since only this option needs it.
 */
export async function openChats(folder: string): Promise<ChatStorage> {
  const { PGlite } = await import('@electric-sql/pglite');
  const unlock = await lock(folder);
  const database = await PGlite.create(folder);
  await lastValueFrom(migratePostgres(database), { defaultValue: undefined });
  return {
    options: {
      store: postgresStore(database),
      log: postgresLog(database, { notifications: pgliteNotifications(database) }),
      chats: keepChats(postgresStore(database, { kind: 'chat' })),
      checkpoints: true, // a run that was cut off by a crash goes on
    },
    close: async () => {
      await database.close();
      await unlock();
    },
  };
}

/** PGlite does not know of other processes: a second one destroys the folder. Beside it is the id of the one. */
async function lock(folder: string): Promise<() => Promise<void>> {
  const file = `${folder.replace(/[/\\]+$/, '')}.pid`;
  const owner = Number(await readFile(file, 'utf8').catch(() => ''));
  if (isRunning(owner)) throw new Error(`Process ${owner} uses "${folder}". If it does not, remove ${file}.`);
  await writeFile(file, String(process.pid));
  return () => rm(file, { force: true });
}

function isRunning(id: number): boolean {
  try {
    return id > 0 && id !== process.pid && process.kill(id, 0);
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM'; // it is somebody else's
  }
}
