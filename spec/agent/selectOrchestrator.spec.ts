import { describe, expect, it } from '@jest/globals';
import type { Capabilities } from '../../lib/core/model.js';
import { selectOrchestrator } from '../../lib/agent/selectOrchestrator.js';
import { scriptedModel } from '../../lib/testing/index.js';
import { add, city, native, oneAtATime, onlyTools } from './typedRun.js';

describe('selectOrchestrator', () => {
  it.each<[string, Capabilities | undefined, boolean, boolean, string]>([
    ['without an output', native, true, false, 'toolLoop'],
    ['for an output', native, false, true, 'typedOutput'],
    ['for an output with tools', native, true, true, 'typedOutput'],
    ['for an output with tools, if the model does not accept both', oneAtATime, true, true, 'twoPhase'],
    ['for an output without tools, if the model does not accept both', oneAtATime, false, true, 'typedOutput'],
    ['for a model that accepts no schema', onlyTools, true, true, 'typedOutput'],
    ['for unknown capabilities', undefined, true, true, 'typedOutput'],
  ])('selectOrchestrator chooses by what the model can do (%s)', (_, capabilities, tools, output, name) => {
    const model = scriptedModel([], { ...(capabilities ? { capabilities } : {}) });
    expect(selectOrchestrator(model, { tools: tools ? [add] : [], output: output ? city : undefined }).name).toBe(name);
  });
});
