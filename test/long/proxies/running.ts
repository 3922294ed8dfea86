// Runs a proxy as a process, on a free port, with a temporary folder for its files.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { findFreePort } from '../../store/postgres-server.ts'

const MAX_WAITING_MS = 10_000

/** The file of the program; `undefined` if it is not installed. */
export const findProgram = ({ files, version }) => files.find((file) => spawnSync(file, version).status === 0)

export async function listen(server) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server.address().port
}

const isOpen = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

export async function startProxy(name, proxy, { gate, application }) {
  const folder = mkdtempSync(join(tmpdir(), `cardea-${name}-`))
  const port = await findFreePort()
  const file = join(folder, 'configuration')
  writeFileSync(file, proxy.render({ folder, port, gate, application }))
  const homes = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = spawn(findProgram(proxy), proxy.arguments(folder, file), {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...homes },
  })
  const ended = once(child, 'close')
  const errors = text(child.stderr)
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  const deadline = Date.now() + MAX_WAITING_MS
  while (!(await isOpen(port))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop()
      throw new Error(`${name} did not start: ${await errors}`)
    }
    await pause(20)
  }
  return { port, stop, pid: child.pid }
}
