// A demonstration on this machine, without a configuration: npm run demo
import { createServer } from 'node:net'

/** The port, or any free one if another program has it. */
const findPort = (port: number): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer()
    server.on('error', () => resolve(0))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(port)))
  })

// what the identity provider says about its development mode is of no use here
console.warn = () => {}
console.info = () => {}
const { NOTES, startNotesDemo } = await import('../test/support/notes-demo.ts')

const works: (() => unknown)[] = []
const stop = async () => {
  for (const work of works) await work()
  process.exit()
}
process.once('SIGINT', stop).once('SIGTERM', stop)

const scope = { after: (work: () => unknown) => works.unshift(work) }
const ports = { document: await findPort(5984), multiModel: await findPort(8529) }
const { document } = await startNotesDemo(scope, ports)
const { path, user } = NOTES
console.log(`
Open both in a browser, side by side:

  Notes    ${document}${path}      ${user.name}, ${user.password}
  Console  ${document}/_cardea/    admin, adminpw

Try:

  1  Notes: create an account and write a note.
  2  Switch the network off (developer tools, Network, Offline). Reload, write on, switch it on again.
  3  Open Notes in a second tab: each shows what you write in the other.
  4  Sign out, and sign in with Example ID: a local identity provider, any name, any password.
  5  Console, Users, your name, More actions, End sessions: Notes asks you to sign in, and keeps your notes.

Each user reaches only its own database:

  curl -u '${user.name}:${user.password}' ${document}/userdb-616461/_all_docs     200: the notes of ada
  curl -u '${user.name}:${user.password}' ${document}/userdb-616c616e/_all_docs   403: those of alan

All data is in memory or in a temporary folder, and gone at the end. Stop with Ctrl-C.
`)
