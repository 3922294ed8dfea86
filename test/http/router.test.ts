import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRouter } from '../../src/http/router.ts'

const route = (path: string) => ({ path, methods: {} })
const find = createRouter(
  [
    '/',
    '/_session',
    '/_node/{node}',
    '/_node/{node}/_config',
    '/_node/{node}/_config/{section}/{key}',
    '/_node/_all',
  ].map(route),
)

const ROWS: [name: string, segments: string[], path: string | undefined, params: Record<string, string>][] = [
  ['the root has no segments', [], '/', {}],
  ['a literal', ['_session'], '/_session', {}],
  ['a parameter takes any text', ['_node', 'a/b'], '/_node/{node}', { node: 'a/b' }],
  ['a literal wins over a parameter', ['_node', '_all'], '/_node/_all', {}],
  [
    'several parameters',
    ['_node', '_local', '_config', 's', 'k'],
    '/_node/{node}/_config/{section}/{key}',
    { node: '_local', section: 's', key: 'k' },
  ],
  ['a path that stops half way is none', ['_node', '_local', '_config', 's'], undefined, {}],
  ['a path that goes on is none', ['_session', 'x'], undefined, {}],
  ['an unknown path', ['nowhere'], undefined, {}],
  ['a name every object has is no literal', ['constructor'], undefined, {}],
  [
    'a parameter may be called like a member every object has',
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

test('two routes for one path do not start', () => {
  assert.throws(() => createRouter([route('/a'), route('/a/')]), TypeError)
  assert.throws(() => createRouter([route('/{a}/x'), route('/{b}/y')]), TypeError)
})
