import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the ports that systems give to outgoing connections and to `listen(0)`: no other process takes it by chance. */
const LOWEST = 15_000;
const HIGHEST = 32_000;

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
    );
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

/** A port of this machine that nothing listens on, and that stays free until it is used. */
export async function freePort(): Promise<number> {
  const port = randomInt(LOWEST, HIGHEST);
  return (await isFree(port)) ? port : freePort();
}
