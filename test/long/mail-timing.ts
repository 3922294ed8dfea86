// Whether the time of a reply shows that an address has an account:
//   npm run test:long -- mail-timing
//
// The goal is for an idle machine: the medians of 1000 requests for each, in random order, differ by less than 5 %. The
// 95th percentiles differ by up to 20 % from run to run, in both directions, because they are those of the machine. So
// they are compared with what chance does: the difference must not be one that random halves of all requests hardly have.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { startMailServer } from '../support/mail.ts'
import { FREE_PORTS, start } from '../support/process.ts'
import { addUser, api, makeConfiguration } from '../support/workers.ts'

const USERS = 100
const EACH = 10
const MAX_DIFFERENCE = 0.05

const shuffle = <T>(list: readonly T[]): readonly T[] =>
  list
    .map((each) => [Math.random(), each] as const)
    .sort(([a], [b]) => a - b)
    .map(([, each]) => each)

const findPart = (times: readonly number[], part: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * part)] ?? Number.NaN

const SHUFFLES = 2000
/** A test without a cause fails once in so many runs. */
const MIN_CHANCE = 1 / 500

/** How often random halves of all times differ at least as much as those of the two kinds. */
function findChance(known: readonly number[], unknown: readonly number[], part: number): number {
  const differ = (one: readonly number[], two: readonly number[]) => Math.abs(findPart(one, part) - findPart(two, part))
  const found = differ(known, unknown)
  let count = 0
  for (let round = 0; round < SHUFFLES; round += 1) {
    const mixed = shuffle([...known, ...unknown])
    if (differ(mixed.slice(0, known.length), mixed.slice(known.length)) >= found) count += 1
  }
  return count / SHUFFLES
}

it('a request for a password link takes as long whether the address has an account or not', async (t) => {
  const mailServer = await startMailServer(t)
  const { folder } = await makeConfiguration(t)
  const options = {
    'store.url': `sqlite:${join(folder, 'store.db')}`,
    'mail.url': mailServer.url,
    'mail.from': 'no-reply@shop.example',
    'mail.mailbox-requests-per-hour': '0',
    'mail.client-requests-per-hour': '0',
    'console.public-url': 'https://db.example.com',
    'chttpd_auth.iterations': '1',
  }
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const cardea = start(t, ['serve', ...FREE_PORTS, '--config', join(folder, 'a.ini'), ...flags])
  const doors = { cardea, folder, ...(await cardea.doors()) }
  const ask = async (address: string): Promise<number> => {
    const before = performance.now()
    const reply = await fetch(`${doors.document}/_cardea/account/password-reset`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ address }),
    })
    await reply.text()
    assert.equal(reply.status, 200)
    return performance.now() - before
  }
  const people = Array.from({ length: USERS }, (_, index) => `user${index}`)
  for (const name of people) {
    await addUser(doors, name)
    await api(doors, 'PUT', `/users/${name}/address`, { address: `${name}@example.com` })
  }
  const times = { exists: [] as number[], 'does not': [] as number[] }
  const asked = people.flatMap((name) => [
    { kind: 'exists' as const, address: `${name}@example.com` },
    { kind: 'does not' as const, address: `${name}@example.org` },
  ])
  for (const { address } of shuffle(asked)) await ask(address)
  for (let round = 0; round < EACH; round += 1)
    for (const { kind, address } of shuffle(asked)) times[kind].push(await ask(address))
  for (const [name, part] of [
    ['median', 0.5],
    ['95th percentile', 0.95],
  ] as const) {
    const [known, unknown] = [findPart(times.exists, part), findPart(times['does not'], part)]
    const difference = Math.abs(known - unknown) / Math.min(known, unknown)
    const percent = (100 * difference).toFixed(1)
    const chance = findChance(times.exists, times['does not'], part)
    console.log(`${name}: ${known.toFixed(3)} ms exists, ${unknown.toFixed(3)} ms does not, ${percent} % apart`)
    console.log(`  ${(100 * chance).toFixed(1)} % of random halves differ as much`)
    if (part === 0.5) assert.ok(difference < MAX_DIFFERENCE, `${name}: ${percent} %`)
    else assert.ok(difference < MAX_DIFFERENCE || chance > MIN_CHANCE, `${name}: ${percent} %, by chance ${chance}`)
  }
})
