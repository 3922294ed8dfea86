/** PouchDB with its plug-ins. A process that runs several test files adds them once: PouchDB refuses a second time. */
import http from 'pouchdb-adapter-http'
import memory from 'pouchdb-adapter-memory'
import PouchDB from 'pouchdb-core'
import replication from 'pouchdb-replication'

PouchDB.plugin(http).plugin(memory).plugin(replication)

export { PouchDB }
