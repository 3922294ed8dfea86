// Whether the time of a reply shows that an address has an account:
//   npm run test:long -- mail-timing
//
// The goal is for an idle machine: the medians of 1000 requests for each, in random order, differ by less than 5 %. The
// 95th percentiles are printed: from run to run they differ by up to 20 %, in both directions.
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
    console.log(`${name}: ${known.toFixed(3)} ms exists, ${unknown.toFixed(3)} ms does not, ${percent} % apart`)
    if (part === 0.5) assert.ok(difference < MAX_DIFFERENCE, `${name}: ${percent} %`)
  }
})
