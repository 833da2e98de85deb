import { defer } from 'rxjs';
import type { Capabilities, Model, Request } from '../core/model.js';
import { linesFor, play } from './script.js';
import type { Script, ScriptRequest } from './script.js';

/** What the functions of a scripted model's script get: the request, and its number. */
export type ScriptedRequest = Request & ScriptRequest;

/** Settings of a scripted model. */
export interface ScriptedModelOptions {
  /** Its provider. Default: `scripted`. */
  readonly provider?: string;
  /** Its name. Default: `scripted`. */
  readonly name?: string;
  /** What it can do. Default: not known. */
  readonly capabilities?: Capabilities;
  /**
   * How many of the latest requests are kept. Default: all. Each holds the history up to its turn, so a run of 10,000 turns keeps some 10^8
   * references if all stay: `keep: 0` for such.
   */
  readonly keep?: number;
}

/** A model that follows a script. */
export interface ScriptedModel extends Model {
  /** The requests so far, oldest first: one a subscription. */
  readonly requests: readonly Request[];
}

/**
 * A model that says what a script tells it: no HTTP, no key, in Node and in browsers.
 *
 * It is cold: each subscription is a request, and gets the next turn of the script. It emits synchronously, unless the script waits, and stops in
 * mid-emission when it is unsubscribed.
 *
 * ```ts
 * const model = scriptedModel([[call('add', { a: 1, b: 2 })], 'That makes 3.']);
 * model.stream({ messages: [userMessage('1 + 2?')] }).subscribe(({ type }) => console.log(type));
 * // toolCallFragment
 * // finish
 * ```
 *
 * @param script A list of turns, or one function of the request. A request beyond the list, and whatever a function throws, is an `error`
 * notification.
 * @param options Provider, name, capabilities, and how many requests are kept.
 * @returns The model, with the requests that it got.
 */
export function scriptedModel(script: Script<ScriptedRequest>, options: ScriptedModelOptions = {}): ScriptedModel {
  const { provider = 'scripted', name = 'scripted', capabilities, keep = Infinity } = options;
  const requests: Request[] = [];
  let turns = 0;
  return {
    provider,
    name,
    ...(capabilities && { capabilities }),
    requests,
    stream: (request) =>
      defer(() => {
        const turn = ++turns;
        requests.push(request);
        if (requests.length > keep) requests.shift();
        return play(linesFor(script, { ...request, turn }), turn);
      }),
  };
}
