import { connect } from 'node:net'

/** Whether a listener receives connections on all interfaces of the machine. */
export const isOnAllInterfaces = (url: string): boolean => /^\w+:\/\/(?:\[::\]|0\.0\.0\.0):/.test(url)

/** The address of a listener for clients on this machine. */
export const toLocalAddress = (url: string): string =>
  isOnAllInterfaces(url) ? url.replace(new URL(url).hostname, '127.0.0.1') : url

/**
 * The address for a browser: of a listener at 127.0.0.1 it is `localhost`, because browsers allow no passkeys at an
 * address. They try IPv6 first, so this needs that no other program has the port there.
 */
export async function toBrowserAddress(url: string): Promise<string> {
  const { protocol, hostname, port } = new URL(url)
  // the listener itself has the port there
  if (hostname === '[::]') return url.replace(hostname, 'localhost')
  const isLocal = isOnAllInterfaces(url) || (protocol === 'http:' && hostname === '127.0.0.1')
  if (!isLocal || (await isTaken('::1', Number(port || 80)))) return toLocalAddress(url)
  return url.replace(hostname, 'localhost')
}

const isTaken = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port })
    const end = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })
