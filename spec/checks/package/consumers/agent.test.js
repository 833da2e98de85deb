const rxjs = require('rxjs');
const z = require('zod');
const rivulet = require('rivulet');
const mcp = require('rivulet/mcp');
const registry = require('rivulet/registry');
const testing = require('rivulet/testing');
const server = require('rivulet/testing/server');
const scenario = require('./scenario.cjs');

test('an agent runs in a plain CommonJS jest', async () => {
  await scenario({ rxjs, z, rivulet, registry, mcp, testing, server });
});
