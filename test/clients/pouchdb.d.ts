// PouchDB brings no types of its own; the tests use it as a client that is not Cardea's.
declare module 'pouchdb-core'
declare module 'pouchdb-adapter-http'
declare module 'pouchdb-adapter-memory'
declare module 'pouchdb-replication'
