import { describe, expect, it } from '@jest/globals';
import { of, pipe, tap } from 'rxjs';
import type { Chunk } from '../../lib/core/chunk.js';
import { ConfigurationError } from '../../lib/core/errors.js';
import type { Model } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import { guardModel } from '../../lib/models/guardModel.js';
import { createLimiter, limitModel } from '../../lib/models/limitModel.js';
import { pipeModel } from '../../lib/models/pipeModel.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { cacheTool } from '../../lib/tools/cacheTool.js';
import { limitTool } from '../../lib/tools/limitTool.js';
import { retryTool } from '../../lib/tools/retryTool.js';
import { failingModel, modelOf, request } from '../models/models.js';
import { observe } from '../support/observe.js';
import { callTool, sameType } from '../tools/calls.js';

describe('a wrapper of models', () => {
  const noKey = (content: { readonly type: string }) => content.type === 'text';
  const model = modelOf('m', [['Hi']]);
  const expected = observe(model.stream(request)).values;

  it.each<[string, (model: Model) => Model]>([
    ['retryModel()', retryModel()],
    ['retryModel({ count: 1 })', retryModel({ count: 1 })],
    ['limitModel(limiter)', limitModel(createLimiter({ concurrency: 1 }))],
    ['guardModel(isAllowed)', guardModel(noKey)],
    ['guardModel(isAllowed, options)', guardModel(noKey, { window: 10 })],
    ['pipeModel(operator)', pipeModel(tap<Chunk>())],
    ['pipeModel()', pipeModel()],
    ['a row of wrappers', pipe(retryModel(), limitModel(createLimiter()), pipeModel(tap<Chunk>()))],
  ])('%s is a function of a model', (_, wrap) => {
    const wrapped = wrap(modelOf('m', [['Hi']]));
    expect(wrapped.name).toBe('m');
    expect(observe(wrapped.stream(request)).values).toEqual(expected);
  });

  it('the wrappers of a row are applied from left to right', () => {
    const order: string[] = [];
    const noted = (name: string) => pipeModel(tap<Chunk>(({ type }) => order.push(`${name} ${type}`)));
    observe(pipe(noted('inner'), noted('outer'))(modelOf('m', [['Hi']])).stream(request));
    expect(order).toEqual(['inner text', 'outer text', 'inner finish', 'outer finish']);
  });

  it('retryModel without a model retries as retryModel with a model does', () => {
    const error = new Error('lost');
    const retried = retryModel({ count: 1, delay: 0, when: () => false });
    expect(observe(retried(failingModel('m', error)).stream(request)).error).toBe(error);
  });
});

describe('a wrapper of tools', () => {
  const search = tool({ name: 'search', description: '', execute: () => of(1) });

  it('a wrapper without its tool checks its options at once', () => {
    expect(() => retryTool({ count: -1 })).toThrow(ConfigurationError);
    expect(() => limitTool({ concurrency: 0 })).toThrow(ConfigurationError);
  });

  it('a wrapper without its tool gives each tool a state of its own', () => {
    const cached = cacheTool({ ttl: 1000 });
    const [first, second] = [cached(search), cached({ ...search, execute: () => of(2) })];
    expect(observe(callTool(first)).values).toEqual([1]);
    expect(observe(callTool(second)).values).toEqual([2]);
  });

  it('a row of wrappers keeps the type of the tool', () => {
    const wrapped = pipe(retryTool(), cacheTool({ key: (args) => String(args) }))(search);
    sameType<typeof wrapped, typeof search>(true);
    expect(wrapped.name).toBe('search');
  });
});
