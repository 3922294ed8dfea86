// In front of a real CouchDB. CONTRIBUTING.md says how to run this.
import { test } from 'node:test'
import { CAPABILITY_OPTIONS, testCapabilities } from './capabilities.ts'
import { testCases } from './cases.ts'
import { testContract } from './contract.ts'
import { COUCHDB_URL, connectCouchdb, SECOND_COUCHDB_URL } from './couchdb.ts'
import { testFeeds } from './feeds.ts'
import { GRANT_OPTIONS, testGrants } from './grants.ts'
import { testGuide } from './guide-run.ts'
import { testInFront } from './in-front.ts'
import { testReplicator } from './replicator.ts'
import { testRestore } from './restore.ts'
import { testRewrites } from './rewrites.ts'
import { testSecurity } from './security.ts'
import { testSync } from './sync.ts'
import { testUploads } from './uploads.ts'
import { testUserReplication } from './user-replication.ts'
import { MOVING_OPTIONS, testMoves, testUsers, USER_OPTIONS } from './users.ts'

if (COUCHDB_URL === '') test('a real CouchDB', { skip: 'CARDEA_TEST_COUCHDB names none' }, () => {})
else testAll()

function testAll(): void {
  const couchdb = connectCouchdb(COUCHDB_URL)
  for (const identity of ['jwt', 'proxy'] as const)
    testInFront(couchdb, identity, (scene) => {
      testSync(scene)
      testSecurity(scene)
      testRewrites(scene)
      testReplicator(scene)
      testFeeds(scene)
      testUploads(scene)
    })
  testInFront(couchdb, 'jwt', testGrants, GRANT_OPTIONS)
  testInFront(couchdb, 'jwt', testCapabilities, CAPABILITY_OPTIONS)
  testInFront(couchdb, 'jwt', testUsers, USER_OPTIONS)
  testInFront(couchdb, 'jwt', testMoves, MOVING_OPTIONS)
  testInFront(couchdb, 'jwt', testRestore, USER_OPTIONS)
  if (SECOND_COUCHDB_URL === '') test('two CouchDBs', { skip: 'CARDEA_TEST_COUCHDB_2 names no second one' }, () => {})
  else testUserReplication(couchdb, connectCouchdb(SECOND_COUCHDB_URL))
  testContract(couchdb)
  testCases(couchdb)
  testGuide(couchdb)
}
