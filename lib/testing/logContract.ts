import { catchError, concat, concatMap, defer, forkJoin, map, of, take, toArray } from 'rxjs';
import type { Observable, ObservableInput } from 'rxjs';
import { isSameJson } from '../core/json/equal.js';
import type { StreamEvent } from '../core/event.js';
import type { Envelope } from '../service/runs/lateReader.js';
import type { RunLog } from '../service/ports/runLog.js';
import { casesOf, expecting, expectSame, failing, newId } from './portContract.js';
import type { Check, PortContractCase } from './portContract.js';
import type { Plain } from '../core/typesOf.js';

const text = (value: string) => ({ type: 'text', text: value }) as StreamEvent;
const other = (type: string): StreamEvent => ({ type });

/**
 * Returns the checks that every log of runs must pass, one test case each.
 *
 * <span class="informal">Run them in the spec of your own `RunLog`.</span>
 *
 * ```ts
 * for (const { title, run } of logContract(() => myLog(pool))) test(`myLog ${title}`, run);
 * ```
 *
 * @param create Returns the log. It may contain runs: each case uses ids of its own.
 */
export function logContract(create: () => RunLog | ObservableInput<RunLog>): readonly Plain<PortContractCase>[] {
  return casesOf(create, { ...reading, ...writing, ...messages });
}

type Checks = Readonly<Record<string, Check<RunLog>>>;

const reading: Checks = {
  'does not know a run before it is opened': (log) =>
    concat(
      failing('read', log.read(newId()), 'run_not_found'),
      failing('messages', log.messages(newId()), 'run_not_found'),
      expecting('send', log.send(newId(), { type: 'stop' }), false),
    ),

  'gives a late reader all events, and the end': (log) => {
    const run = newId();
    return concat(
      log.append(run, 1, [other('a'), text('Hel')]),
      log.append(run, 1, [text('lo'), other('b')]),
      log.end(run, 1),
      expecting('events', contentOf(log.read(run)), ['a', 'Hello', 'b']),
    );
  },

  'gives a reader each event as it arrives, and the end': (log) => {
    const run = newId();
    const writing = concat(
      log.append(run, 1, [text('Hel')]),
      log.append(run, 1, [text('lo')]),
      log.append(run, 1, [other('b')]),
      log.end(run, 1),
    );
    return concat(
      log.append(run, 1, [other('a')]),
      forkJoin([contentOf(log.read(run)), writing.pipe(toArray())]).pipe(
        map(([content]) => expectSame('events', content, ['a', 'Hello', 'b'])),
      ),
    );
  },

  'continues after the id of any envelope, without a loss or a repetition': (log) => {
    const run = newId();
    const all = [other('a'), text('Hel'), text('lo'), other('b'), text('!')];
    return concat(
      log.append(run, 1, all),
      log.end(run, 1),
      defer(() => log.read(run).pipe(toArray())).pipe(
        concatMap((envelopes) =>
          concat(
            ...envelopes.map(({ id }, index) =>
              expecting(`events after ${id}`, contentOf(log.read(run, id)), joined(envelopes.slice(index + 1))),
            ),
          ),
        ),
      ),
    );
  },

  'fails for a position that is not one of the run': (log) => {
    const run = newId();
    return concat(log.append(run, 1, [other('a')]), failing('read', log.read(run, 'x'), 'configuration'));
  },

  'gives the events of a failed run, and its failure': (log) => {
    const run = newId();
    const failure = { code: 'timeout', message: 'Too late.', retryable: true, more: 1 };
    return concat(
      log.append(run, 1, [other('a')]),
      log.end(run, 1, { failure }),
      expecting(
        'first event',
        log.read(run).pipe(
          take(1),
          map(({ event }) => event.type),
        ),
        'a',
      ),
      log.read(run).pipe(
        toArray(),
        map(() => expectSame('the failure', undefined, failure)),
        catchError((thrown: unknown) => {
          expectSame('the failure', (thrown as { description?: unknown }).description, failure);
          return of(undefined);
        }),
      ),
    );
  },
};

const writing: Checks = {
  'refuses the writes of an older attempt, and all writes after the end': (log) => {
    const run = newId();
    return concat(
      log.append(run, 1, [other('a')]),
      log.append(run, 2, [other('retract')]),
      failing('append of attempt 1', log.append(run, 1, [other('late')]), 'run_taken'),
      failing('end of attempt 1', log.end(run, 1), 'run_taken'),
      log.append(run, 2, [other('b')]),
      log.end(run, 2),
      failing('append after the end', log.append(run, 2, [other('late')]), 'run_taken'),
      expecting('events', contentOf(log.read(run)), ['a', 'retract', 'b']),
    );
  },

  'keeps what it knows of an event for a transport: the compact form, and no checkpoint': (log) => {
    const run = newId();
    const events = [text('Hi'), { type: 'message', message: { role: 'model', parts: [{ type: 'text', text: 'Hi' }] } }];
    const checkpoint = { type: 'checkpoint', checkpoint: {} } as StreamEvent;
    return concat(
      log.append(run, 1, [...events, checkpoint]),
      log.end(run, 1),
      log.read(run).pipe(
        toArray(),
        map((envelopes) => {
          expectSame('the message', envelopes[1]?.event, events[1]);
          expectSame('the compact message is shorter', isSameJson(envelopes[1]?.compact, events[1]), false);
          expectSame('the compact checkpoint', envelopes[2]?.compact, undefined);
        }),
      ),
    );
  },

  'appends nothing before it is subscribed': (log) => {
    const run = newId();
    void log.append(run, 1, [other('a')]);
    return failing('read', log.read(run), 'run_not_found');
  },
};

const messages: Checks = {
  'opens a run without events, for its readers and its messages': (log) => {
    const run = newId();
    return concat(
      log.append(run, 1, []),
      expecting('send', log.send(run, { type: 'stop' }), true),
      log.end(run, 1),
      expecting('events', contentOf(log.read(run)), []),
      expecting('send after the end', log.send(run, { type: 'stop' }), false),
    );
  },

  'says whether it has a run, its events and its end, and changes nothing': (log) => {
    const [run, empty] = [newId(), newId()];
    const state = (subject: string, id: string, expected: unknown) => expecting(subject, log.state(id), expected);
    return concat(
      state('a run that was not opened', run, undefined),
      failing('read after it', log.read(run), 'run_not_found'),
      log.append(run, 1, []),
      state('a run without events', run, { attempt: 1, hasEvents: false, hasEnded: false }),
      log.append(run, 2, [other('a')]),
      state('a run of the second attempt', run, { attempt: 2, hasEvents: true, hasEnded: false }),
      log.end(run, 3, { failure: { code: 'timeout', message: 'Too late.' } }),
      state('a run that has failed', run, { attempt: 3, hasEvents: true, hasEnded: true }),
      expecting('messages', log.messages(run).pipe(toArray()), []),
      log.end(empty, 1),
      state('a run that has ended without events', empty, { attempt: 1, hasEvents: false, hasEnded: true }),
    );
  },

  'gives the executor all messages in their order, and completes at the end': (log) => {
    const run = newId();
    const messages = [
      { type: 'decision', id: 'c1', decision: { approve: true } },
      { type: 'result', id: 'c2', result: { city: 'Oslo' } },
      { type: 'prompt', input: [{ role: 'user', parts: [{ type: 'text', text: 'Hurry.' }] }] },
      { type: 'cancel', id: 'c3' },
      { type: 'stop' },
    ] as const;
    const sending = concat(...messages.slice(2).map((message) => log.send(run, message)), log.end(run, 1));
    return concat(
      log.append(run, 1, []),
      ...messages.slice(0, 2).map((message) => log.send(run, message)),
      forkJoin([log.messages(run).pipe(toArray()), sending.pipe(toArray())]).pipe(
        map(([sent]) => {
          expectSame(
            'messages',
            sent.map(({ message }) => message),
            messages,
          );
          return sent[1]?.position;
        }),
        concatMap((position) =>
          expecting(
            'messages after the second',
            log.messages(run, position).pipe(
              map(({ message }) => message.type),
              toArray(),
            ),
            ['prompt', 'cancel', 'stop'],
          ),
        ),
      ),
    );
  },
};

const joined = (envelopes: readonly Envelope[]): readonly string[] => {
  const content: string[] = [];
  let wasText = false;
  for (const { event } of envelopes) {
    const isText = event.type === 'text';
    const value = isText ? (event as unknown as { readonly text: string }).text : event.type;
    if (isText && wasText) content.push(`${content.pop() ?? ''}${value}`);
    else content.push(value);
    wasText = isText;
  }
  return content;
};

const contentOf = (envelopes: Observable<Envelope>) => envelopes.pipe(toArray(), map(joined));
