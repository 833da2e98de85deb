import { nonEmptyString } from '../../../lib/core/json/json.js';
import type { JsonObject } from '../../../lib/core/json/json.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import type { LoopbackServer, ServedTurn, ServeOptions } from '../../../lib/testing/server/index.js';
import type { Script } from '../../../lib/testing/index.js';

/** Frames as server-sent events of Anthropic. */
export const raw = (...frames: readonly JsonObject[]): string[] =>
  frames.map((frame) => `event: ${nonEmptyString(frame['type']) ?? ''}\ndata: ${JSON.stringify(frame)}\n\n`);

export const bodiesOf = (server: LoopbackServer): readonly JsonObject[] =>
  server.requests.map(({ body }) => body as JsonObject);

/** Runs `use` with a loopback server, which is closed afterwards. */
export async function serve<T>(
  script: Script<ServedTurn>,
  options: ServeOptions,
  use: (server: LoopbackServer) => Promise<T>,
): Promise<T> {
  const server = await serveModel(script, options);
  try {
    return await use(server);
  } finally {
    await server.close();
  }
}
