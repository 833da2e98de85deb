const rxjs = require('rxjs');
const z = require('zod');
const rivulet = require('rivulet');
const read = Object.keys(require.cache).filter((path) => /[\\/]rivulet[\\/]dist[\\/]/.test(path)).length;
if (read > 12) throw new Error(`require('rivulet') reads ${read} files.`);
const mcp = require('rivulet/mcp');
const registry = require('rivulet/registry');
const testing = require('rivulet/testing');
const server = require('rivulet/testing/server');
const scenario = require('./scenario.cjs');

scenario({ rxjs, z, rivulet, registry, mcp, testing, server }).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
