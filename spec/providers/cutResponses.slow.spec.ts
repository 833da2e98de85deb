import { modelByName, registeredProviders } from '../../lib/providers/registry/index.js';
import { describeCutResponses } from '../support/cutResponses.js';

// The contract of each provider cuts its response at some places; these are all of them.
for (const { name } of registeredProviders())
  describeCutResponses({
    name,
    modelAt: (server, options) => modelByName(name, { apiKey: 'key', baseUrl: server.urlFor(name), ...options }),
    maxCuts: Infinity,
  });
