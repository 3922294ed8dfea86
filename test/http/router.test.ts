import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRouter } from '../../src/http/dispatch.ts'

const route = (path: string) => ({ path, methods: {} })
const find = createRouter(
  [
    '/',
    '/_session',
    '/_node/{node}',
    '/_node/{node}/_config',
    '/_node/{node}/_config/{section}/{key}',
    '/_node/_all',
    '/_node/{node}/_stats/{...}',
    '/_utils/{...}',
    '/_utils/login',
  ].map(route),
)

const ROWS: [name: string, segments: string[], path: string | undefined, params: Record<string, string>][] = [
  ['the root has no segments', [], '/', {}],
  ['a literal', ['_session'], '/_session', {}],
  ['a parameter matches any text', ['_node', 'a/b'], '/_node/{node}', { node: 'a/b' }],
  ['a literal wins over a parameter', ['_node', '_all'], '/_node/_all', {}],
  [
    'several parameters',
    ['_node', '_local', '_config', 's', 'k'],
    '/_node/{node}/_config/{section}/{key}',
    { node: '_local', section: 's', key: 'k' },
  ],
  ['everything below a path', ['_utils', 'a', 'b'], '/_utils/{...}', {}],
  ['everything below includes the path itself', ['_utils'], '/_utils/{...}', {}],
  ['a row of its own wins', ['_utils', 'login'], '/_utils/login', {}],
  ['below a row of its own', ['_utils', 'login', 'x'], '/_utils/{...}', {}],
  ['below a parameter', ['_node', 'n', '_stats', 'x'], '/_node/{node}/_stats/{...}', { node: 'n' }],
  ['an incomplete path does not match', ['_node', '_local', '_config', 's'], undefined, {}],
  ['a longer path does not match', ['_session', 'x'], undefined, {}],
  ['an unknown path', ['nowhere'], undefined, {}],
  ['a name of Object.prototype is not a literal', ['constructor'], undefined, {}],
  [
    'a parameter may have a name of Object.prototype as its value',
    ['_node', '__proto__'],
    '/_node/{node}',
    { node: '__proto__' },
  ],
]

for (const [name, segments, path, params] of ROWS) {
  test(name, () => {
    const match = find(segments)
    assert.equal(match?.route.path, path)
    assert.deepEqual({ ...match?.params }, params)
  })
}

test('rejects two routes for one path', () => {
  assert.throws(() => createRouter([route('/a'), route('/a/')]), TypeError)
  assert.throws(() => createRouter([route('/a/{...}'), route('/a/{...}')]), TypeError)
  assert.throws(() => createRouter([route('/{a}/x'), route('/{b}/y')]), TypeError)
})
