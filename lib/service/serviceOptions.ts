import type { EditOptions } from './http/argumentEdits.js';
import type { FileUrlOptions } from './http/fileUrls.js';
import type { GateOptions } from './http/gate.js';
import type { NoticeOptions } from './notices.js';
import type { OwnerBytesOptions } from './ownerBytes.js';
import type { OwnerLimitOptions } from './ownerLimits.js';
import type { PublicEventsOptions } from './publicEvents.js';
import type { RunStore } from './ports/runStore.js';
import type { RunsOptions } from './runs/createRuns.js';
import type { ServerSentEventsOptions } from '../transport/serverSentEvents.js';

/** Options that all services have. `C` is the type of the user's own value for tools. */
export interface ServiceOptions<C>
  extends
    Pick<ServerSentEventsOptions, 'heartbeat' | 'onError'>,
    PublicEventsOptions,
    GateOptions,
    FileUrlOptions,
    OwnerLimitOptions,
    OwnerBytesOptions,
    EditOptions,
    NoticeOptions<C>,
    RunsOptions {
  /** Where runs are stored. Default: in memory (64 MiB, 24 hours), until the process ends. */
  readonly store?: RunStore | undefined;
  /**
   * Returns the owner of a run from the context of the request that starts it: the id of a user, or of a team. Nobody
   * else can join, read, stop or answer it. Required with `context`. Default: all users are one owner.
   */
  readonly owner?: ((context: C) => string) | undefined;
  /** The size of a request that is answered with 413, in bytes. */
  readonly maxBodyBytes?: number | undefined;
  /** The size of the stored conversation before a run, in bytes. A longer one is refused with 413. Default: 4 MiB. */
  readonly maxHistoryBytes?: number | undefined;
}

/** The limits that all handlers have. */
export type LimitOptions = keyof OwnerLimitOptions | 'maxOwnerBytes' | 'maxBodyBytes' | 'maxHistoryBytes';

/** The options with which all handlers say who may use them, and what leaves them. */
export type EdgeOptions =
  | keyof PublicEventsOptions
  | keyof GateOptions
  | keyof FileUrlOptions
  | keyof NoticeOptions<unknown>;
