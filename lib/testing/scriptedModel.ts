import { defer } from 'rxjs';
import type { Capabilities, Model, ModelRequest } from '../core/model.js';
import { obeyStop } from '../core/response.js';
import { outputFor, play, type Script, type ScriptRequest } from './script.js';
import { requireNumber } from '../core/options.js';

/** The argument of the functions in a script: the request, and its number. */
export type ScriptedRequest = ModelRequest & ScriptRequest;

/** Settings of a scripted model. */
export interface ScriptedModelOptions {
  /** The provider's name. Default: `scripted`. */
  readonly provider?: string;
  /** The model's name. Default: `scripted`. */
  readonly name?: string;
  /** The model's capabilities. Default: unknown. */
  readonly capabilities?: Capabilities;
  /**
   * How many of the latest requests are kept. Default: all. Each request holds the history up to its turn, so a run of
   * 10,000 turns keeps some 10^8 references: use `keep: 0` for such runs.
   */
  readonly keep?: number;
}

/** A model that follows a script. */
export interface ScriptedModel extends Model {
  /** The requests so far, oldest first: one per subscription, without its `stop`. */
  readonly requests: readonly ModelRequest[];
  /**
   * The turns of the script that no request has received, by their numbers from 1. Empty for a function. A spec that
   * expects `[]` finds a run that ended too early.
   */
  readonly unusedTurns: readonly number[];
}

/**
 * Creates a model that follows a script: no HTTP, no key, in Node and in browsers.
 *
 * It is cold: each subscription is a request and receives the next turn of the script. It emits synchronously, unless
 * the script waits. Unsubscribing also stops it between two synchronous chunks.
 *
 * ```ts
 * const model = scriptedModel([[toolCall('add', { a: 1, b: 2 })], 'That makes 3.']);
 * model.stream({ messages: [userMessage('1 + 2?')] }).subscribe(({ type }) => console.log(type));
 * // toolCallFragment
 * // finish
 * ```
 *
 * @param script An array of turns, or one function of the request. A request after the last turn, and whatever a
 * function throws, is an `error` notification.
 * @param options Provider, name, capabilities, and how many requests are kept.
 * @returns The model, with the requests that it has received.
 */
export function scriptedModel(script: Script<ScriptedRequest>, options: ScriptedModelOptions = {}): ScriptedModel {
  const { provider = 'scripted', name = 'scripted', capabilities, keep = Infinity } = options;
  requireNumber('keep', keep, 0);
  const requests: ModelRequest[] = [];
  let turns = 0;
  return {
    provider,
    name,
    ...(capabilities && { capabilities }),
    requests,
    get unusedTurns() {
      const count = typeof script === 'function' ? 0 : script.length;
      return Array.from({ length: Math.max(0, count - turns) }, (_, index) => turns + index + 1);
    },
    stream: obeyStop((request) =>
      defer(() => {
        const turn = ++turns;
        const { stop: _, ...sent } = request;
        requests.push(sent);
        if (requests.length > keep) requests.shift();
        return play(outputFor(script, { ...sent, turn }), turn);
      }),
    ),
  };
}
