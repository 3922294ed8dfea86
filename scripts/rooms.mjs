// Who may import whom: values, and types only. `index.ts` and `main.ts` stand outside the rooms.
export const ROOMS = {
  base: { values: [], types: [] },
  identity: { values: ['base', 'journal'], types: [] },
  keys: { values: ['base'], types: [] },
  config: { values: ['base'], types: [] },
  credentials: { values: ['base', 'journal', 'identity', 'keys'], types: [] },
  store: { values: ['base', 'journal'], types: ['identity'] },
  upstream: { values: ['base', 'journal'], types: ['identity', 'door'] },
  journal: { values: ['base'], types: [] },
  door: { values: ['base', 'journal'], types: ['identity'] },
  dialects: { values: ['base', 'journal', 'identity'], types: ['door'] },
  app: {
    values: ['base', 'identity', 'keys', 'config', 'credentials', 'store', 'upstream', 'journal', 'door', 'dialects'],
    types: [],
  },
  cli: { values: ['base', 'config', 'app'], types: [] },
}

/** Third-party packages and the one place each may be imported from. */
export const PACKAGES = {
  commander: /^cli\//,
  '@clack/prompts': /^cli\//,
  pino: /^journal\//,
  'lru-cache': /^(identity|credentials|keys)\//,
  re2js: /^identity\//,
  undici: /^upstream\//,
  pg: /^store\/postgres\//,
}
