const rxjs = require('rxjs');
const z = require('zod');
const rivulet = require('rivulet');
const testing = require('rivulet/testing');
const server = require('rivulet/testing/server');
const scenario = require('./scenario.cjs');

scenario({ rxjs, z, rivulet, testing, server }).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
