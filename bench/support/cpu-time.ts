// CPU time that a server in another process takes for one request.
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'

/** CPU time of each thread of a process, in microseconds. Linux only. */
export function readThreadsUs(pid): ReadonlyMap<string, number> {
  const readUs = (id) => Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]) / 1000
  return new Map(readdirSync(`/proc/${pid}/task`).map((id) => [id, readUs(id)]))
}

/** CPU time of all threads of these processes. */
const readCpuUs = (pids) => pids.flatMap((pid) => [...readThreadsUs(pid).values()]).reduce((sum, us) => sum + us, 0)

/** One kept connection, on which a request follows each response. Much cheaper than an HTTP client. */
async function openConnection({ hostname, port }) {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  let received = ''
  let onResponse: () => void = () => {}
  socket.on('end', () => {
    throw new Error(`the server at port ${port} closed a connection that is measured`)
  })
  socket.setEncoding('latin1').on('data', (text) => {
    received += text
    if (!isWhole(received)) return
    if (!received.startsWith('HTTP/1.1 200 ')) throw new Error(`unexpected response: ${received.slice(0, 200)}`)
    received = ''
    onResponse()
  })
  return {
    send(request, done) {
      onResponse = done
      socket.write(request)
    },
    close: () => socket.destroy(),
  }
}

function isWhole(text) {
  const headEnd = text.indexOf('\r\n\r\n')
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(text) ?? []
  return headEnd >= 0 && (length === undefined ? text.endsWith('\r\n0\r\n\r\n') : text.length >= headEnd + 4 + +length)
}

/** Sends a batch of requests over all connections. Returns the CPU time of one request. */
export async function measureBatch({ pids, connections, createRequest }, batch) {
  // with a new session: a cookie older than a minute would be renewed by every response
  const request = await createRequest(batch)
  const before = readCpuUs(pids)
  await sendBatch(connections, request, batch)
  return (readCpuUs(pids) - before) / batch
}

/** `request`: the same for all, or a list with one for each. */
export async function sendBatch(connections, request, batch) {
  let left = batch
  const sendAll = async (connection) => {
    while (left > 0) {
      left -= 1
      await new Promise((done) => connection.send(Array.isArray(request) ? request[left] : request, done))
    }
  }
  await Promise.all(connections.map(sendAll))
}

export interface Target {
  readonly url: string
  /** The processes that are measured. */
  readonly pids: readonly (number | undefined)[]
  readonly path: string
  /** Returns a header line, nothing, or a line for each of `count` requests. */
  createHeader?(count: number): string | string[] | Promise<string>
}

/** A server that is measured: connections to it, and the request they send. */
export async function openTarget({ url, pids, path, createHeader = () => '' }: Target, count: number) {
  const { hostname, port, host } = new URL(url)
  const opening = Array.from({ length: count }, () => openConnection({ hostname, port }))
  const render = (header: string) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${header}\r\n`
  const createRequest = async (count = 1) => {
    const header = await createHeader(count)
    return Array.isArray(header) ? header.map(render) : render(header)
  }
  return { pids, connections: await Promise.all(opening), createRequest }
}

export function closeAll(targets) {
  for (const { connections } of targets) for (const connection of connections) connection.close()
}
