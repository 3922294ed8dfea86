import { connect } from 'node:net'

/**
 * The address for a browser: of a listener at 127.0.0.1 it is `localhost`, because browsers allow no passkeys at an
 * address. They try IPv6 first, so this needs that no other program has the port there.
 */
export async function toBrowserAddress(url: string): Promise<string> {
  const { protocol, hostname, port } = new URL(url)
  if (protocol !== 'http:' || hostname !== '127.0.0.1' || (await isTaken('::1', Number(port || 80)))) return url
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
