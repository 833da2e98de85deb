const rivulet = require('rivulet');
const testing = require('rivulet/testing');
const maskSpec = require('./maskEmails.cjs');

maskSpec({ rivulet, testing, expect, it });
