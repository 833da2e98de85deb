import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import * as rxjs from 'rxjs';
import * as z from 'zod';
import * as rivulet from 'rivulet';
import * as mcp from 'rivulet/mcp';
import * as registry from 'rivulet/registry';
import * as testing from 'rivulet/testing';
import * as server from 'rivulet/testing/server';
import { HttpError } from 'rivulet/provider';
import scenario from './scenario.cjs';

await scenario({ rxjs, z, rivulet, registry, mcp, testing, server });

const require = createRequire(import.meta.url);
const { exports } = require('rivulet/package.json');
for (const [path, conditions] of Object.entries(exports).filter(([each]) => !each.endsWith('.json'))) {
  const name = path.replace('.', 'rivulet');
  const imported = await import(name);
  assert.notEqual(Object.keys(imported).length, 0, `${name} exports nothing`);
  if (!conditions.require) continue; // as Angular, the bridge to it has ES modules only
  const required = require(name);
  // A module namespace of CommonJS would also have `default`: these are two builds, with one list of names.
  assert.deepEqual(
    Object.keys(imported).sort(),
    Object.keys(required).sort(),
    `${name} differs between import and require`,
  );
  assert.match(import.meta.resolve(name), /\/dist\/esm\//);
  assert.match(require.resolve(name), /[\\/]dist[\\/]cjs[\\/]/);
}

// Both builds in one process: two classes, one code.
const details = { provider: 'openai', status: 500, retryable: true, body: '' };
const ofTheOther = new (require('rivulet/provider').HttpError)('No.', details);
assert.equal(ofTheOther instanceof HttpError, false);
assert.equal(ofTheOther.code, new HttpError('No.', details).code);
