import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { McpToolError } from '../../lib/tools/mcp/result.js';
import * as errors from '../../lib/core/errors.js';
import * as runErrors from '../../lib/core/runErrors.js';
import { TimeoutError } from '../../lib/core/timeoutError.js';

const {
  ConfigurationError,
  ConnectionError,
  HttpError,
  ProtocolError,
  ProviderError,
  RivuletError,
  StreamInterruptedError,
  TextTooLongError,
  errorText,
  errorToJson,
} = errors;
const { AllModelsFailedError, ElementError, GuardError, OutputError } = runErrors;

describe('TimeoutError', () => {
  it('TimeoutError is retryable in the phases in which nothing was emitted', () => {
    const phases = ['connect', 'first', 'body', 'each', 'turn', 'tool', 'run'] as const;
    expect(phases.filter((phase) => new TimeoutError(phase, 1).retryable)).toEqual(['connect', 'first', 'body']);
  });

  it.each(['connect', 'first', 'body', 'each', 'turn', 'run'] as const)(
    'TimeoutError names the option of its phase (%s)',
    (phase) => {
      const error = new TimeoutError(phase, 7);
      expect(error).toMatchObject({ phase, milliseconds: 7 });
      expect(error.message).toMatch(new RegExp(`7 ms.*timeout\\.${phase}`));
    },
  );
});

describe('errorToJson', () => {
  it('errorToJson returns toJSON() of an error of Rivulet', () => {
    const error = new ConnectionError('toy', 'gone');
    expect(errorToJson(error)).toEqual(error.toJSON());
  });

  it('errorToJson returns only the name and the message of any other value', () => {
    const foreign = Object.assign(new Error('gone'), { config: { key: 'sk-secret' }, toJSON: () => 'sk-secret' });
    expect(errorToJson(foreign)).toEqual({ name: 'Error', message: 'gone' });
    expect(errorToJson('gone')).toEqual({ message: 'gone' });
    const unreadable = new Proxy(
      {},
      {
        get: () => {
          throw new Error('no');
        },
      },
    );
    expect(errorToJson(unreadable)).toEqual({ message: 'an unreadable value was thrown' });
  });
});

describe('errorText', () => {
  const unreadable = {
    toJSON() {
      throw new Error('no');
    },
    toString() {
      throw new Error('no');
    },
  };
  const throwingMessage = Object.defineProperty(new Error('x'), 'message', {
    get() {
      throw new Error('no');
    },
  });
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const circle = Object.create(null) as Record<string, unknown>;
  circle['self'] = circle;

  it.each<[string, unknown, string]>([
    ['an Error', new Error('boom'), 'boom'],
    ['an Error without a message', new TypeError(), 'TypeError'],
    ['an Error of another realm', runInNewContext('new Error("from there")'), 'from there'],
    ['a string', 'boom', 'boom'],
    ['a plain object', { code: 7 }, '{"code":7}'],
    ['undefined', undefined, 'undefined'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['an Error whose message is not a string', Object.assign(new Error('x'), { message: { a: 1 } }), 'Error'],
    ['an object whose methods throw', unreadable, 'an unreadable value was thrown'],
    ['an Error whose message throws', throwingMessage, 'an unreadable value was thrown'],
    ['a revoked proxy', proxy, 'an unreadable value was thrown'],
    ['a circular object without a prototype', circle, 'an unreadable value was thrown'],
  ])('errorText returns a text for %s', (_, thrown, text) => {
    expect(errorText(thrown)).toBe(text);
  });
});

/** What must appear in no log: a key that a server repeats, what the model wrote, the cause. */
const raw = 'sk-secret';
const cause = new Error(raw);

/** An error of each class, and what `JSON.stringify` writes of it besides its name. */
const samples: readonly (readonly [InstanceType<typeof RivuletError>, object])[] = [
  [
    new ConfigurationError('apiKey', 'There is no key.', 'Set X.'),
    { code: 'configuration', message: 'There is no key. Set X.', retryable: false, subject: 'apiKey' },
  ],
  [
    new HttpError('Too many.', {
      provider: 'p',
      status: 429,
      retryable: true,
      body: raw,
      retryAfter: 5,
      requestId: 'r',
    }),
    { code: 'http', message: 'Too many.', retryable: true, provider: 'p', status: 429, retryAfter: 5, requestId: 'r' },
  ],
  [
    new ConnectionError('p', 'Refused.', { cause }),
    { code: 'connection', message: 'Refused.', retryable: true, provider: 'p' },
  ],
  [
    new StreamInterruptedError('p', 'Reset.', { cause }),
    { code: 'stream_interrupted', message: 'Reset.', retryable: true, provider: 'p' },
  ],
  [
    new ProtocolError('p', 'frame', 'Not JSON.', raw),
    { code: 'protocol', message: 'Not JSON.', retryable: false, provider: 'p', reason: 'frame' },
  ],
  [
    new ProviderError('p', 'Overloaded.', { retryable: true, providerCode: 'overloaded', data: { raw } }),
    { code: 'provider', message: 'Overloaded.', retryable: true, provider: 'p', providerCode: 'overloaded' },
  ],
  [
    new TextTooLongError(5),
    {
      code: 'text_too_long',
      message:
        'The text exceeds 5 characters, which a string cannot hold. ' +
        'Limit the output with maxOutputTokens or stopSequences.',
      retryable: false,
      limit: 5,
    },
  ],
  [
    new TimeoutError('each', 500),
    {
      code: 'timeout',
      message: 'The model sent nothing more in its response within 500 ms. Raise timeout.each if that is expected.',
      retryable: false,
      phase: 'each',
      milliseconds: 500,
    },
  ],
  [
    new OutputError('refused', 'No.', 'Ask again.', { orchestrator: 'o', provider: 'p', turn: 2, text: raw }),
    {
      code: 'output',
      message: 'No. Ask again.',
      retryable: false,
      reason: 'refused',
      orchestrator: 'o',
      provider: 'p',
      turn: 2,
    },
  ],
  [
    new AllModelsFailedError(
      [
        { provider: 'p', name: 'a' },
        { provider: 'q', name: 'b' },
      ],
      [new ConnectionError('p', 'Refused.', { cause }), Object.assign(new Error('Lost.'), { request: raw })],
    ),
    {
      code: 'all_models_failed',
      message: 'All 2 models failed. p:a: Refused. q:b: Lost. The errors are in `error.errors`.',
      retryable: true,
      errors: [
        { name: 'ConnectionError', code: 'connection', message: 'Refused.', retryable: true, provider: 'p' },
        { name: 'Error', message: 'Lost.' },
      ],
    },
  ],
  [
    new GuardError('send'),
    {
      code: 'guard',
      message:
        'A guard has rejected the model\'s call of the tool "send". Ask again with retryModel, or another model with fallback.',
      retryable: true,
      tool: 'send',
    },
  ],
  [
    new ElementError(3, { raw }, 'too short'),
    {
      code: 'element',
      message:
        'Element 3 is not valid: too short. The element is in `error.element`. Simplify the schema, or use outputElements() without a schema and check each element.',
      retryable: false,
      index: 3,
      invalid: 'too short',
    },
  ],
  [
    new McpToolError('f', [{ type: 'text', text: 'Not found.' }], { raw }),
    { code: 'mcp_tool', message: `Not found.\n{"raw":"${raw}"}`, retryable: false, tool: 'f' },
  ],
];

describe('errors', () => {
  it.each(samples.map(([error, json]) => [error.name, error, json] as const))(
    'JSON.stringify writes code, message and data of a %s, without raw bodies',
    (name, error, json) => {
      expect(JSON.parse(JSON.stringify(error))).toEqual({ name, ...json });
      if (!error.message.includes(raw)) expect(JSON.stringify({ failed: error })).not.toContain(raw);
    },
  );

  it('JSON.stringify is tested with every exported class of error', () => {
    const classes = Object.values({ ...errors, ...runErrors, TimeoutError }).filter(
      (value) => (value as { prototype?: unknown }).prototype instanceof RivuletError,
    );
    for (const one of classes) expect(samples.map(([error]) => error.constructor)).toContain(one);
    expect(classes).toHaveLength(samples.length - 1); // McpToolError belongs to a bridge
  });

  it('a custom subclass of RivuletError has its name, code and message in JSON', () => {
    class QuotaError extends RivuletError {
      readonly code = 'quota';
    }
    expect(JSON.parse(JSON.stringify(new QuotaError('Used up.')))).toEqual({
      name: 'QuotaError',
      code: 'quota',
      message: 'Used up.',
      retryable: false,
    });
  });

  it('the fields of an error stay readable', () => {
    const details = { provider: 'p', status: 429, retryable: true, body: raw, retryAfter: 5 };
    expect(new HttpError('no', details)).toMatchObject({ name: 'HttpError', code: 'http', ...details });
    expect(new ConnectionError('p', 'Refused.', { cause })).toMatchObject({ cause });
  });
});
