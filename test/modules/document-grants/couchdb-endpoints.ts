// Every endpoint that CouchDB 3.5 has below a database, with and without encodings, and some of the server.

export const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'COPY',
  'OPTIONS',
  'PATCH',
  'MOVE',
  'TRACE',
  'get',
  'toString',
]

/** Paths, and the methods with which they read. From the handlers of CouchDB, not from the table under test. */
export const ENDPOINTS: readonly (readonly [reads: string, paths: string])[] = [
  ['GET HEAD', '/shop /shop/ /a%2Fb /shop/doc /shop/doc/ /shop/doc/file /shop/doc/folder/file /shop/a%2Fb /shop/a+b'],
  ['GET HEAD', '/shop/_design/app /shop/_design%2Fapp /shop/_design/app/logo.png /shop/_design/app/css/main.css'],
  ['GET HEAD', '/shop/_index /shop/_security /shop/_revs_limit /shop/_shards /shop/_shards/doc /shop/_partition/p'],
  ['GET HEAD', '/shop/_design/app/_info /shop/_design/app/_search_info/i /shop/_design/app/_search_disk_size/i'],
  ['GET HEAD', '/shop/_design/app/_nouveau_info/i'],
  ['GET HEAD', '/_all_dbs /_users/org.couchdb.user%3Aada /shop/_local%2Fid'],
  ['GET HEAD POST', '/shop/_all_docs /shop/_design_docs /shop/_local_docs /shop/_changes /_dbs_info'],
  ['GET HEAD POST', '/shop/_design/app/_view/v /shop/_design/app/_search/i /shop/_design/app/_nouveau/i'],
  ['GET HEAD POST', '/shop/_design/app/_show/s /shop/_design/app/_show/s/doc /shop/_design/app/_show/s/a%2Fb'],
  ['GET HEAD POST', '/shop/_design/app/_list/l/v /shop/_design/app/_list/l/other/v'],
  ['GET HEAD POST', '/shop/_partition/p/_all_docs /shop/_partition/p/_design/app/_view/v'],
  ['GET HEAD POST', '/shop/_partition/p/_design/app/_search/i /shop/_partition/p/_design/app/_nouveau/i'],
  ['POST', '/shop/_find /shop/_explain /shop/_bulk_get /shop/_revs_diff /shop/_missing_revs'],
  ['POST', '/shop/_all_docs/queries /shop/_design_docs/queries /shop/_local_docs/queries'],
  ['POST', '/shop/_design/app/_view/v/queries /shop/_partition/p/_find /shop/_partition/p/_explain'],
  ['POST', '/shop/_ensure_full_commit'],
  ['GET HEAD', '/shop/_local/id /shop/_local/a+b /shop/_local/obsydian_livesync_milestone'],
  ['GET HEAD PUT', '/shop/_local/0123456789abcdef0123456789abcdef /shop/_local/Kp.z_8A6Xt2DvV1Yk0XbRg%3D%3D'],
  ['', '/shop/_bulk_docs /shop/_purge /shop/_purged_infos /shop/_purged_infos_limit /shop/_compact /shop/_compact/app'],
  ['', '/shop/_view_cleanup /shop/_sync_shards /shop/_temp_view /shop/_auto_purge /shop/_time_seq'],
  ['', '/shop/_search_cleanup /shop/_nouveau_cleanup /shop/_index/_bulk_delete /shop/_index/_design/app/json/i'],
  [
    '',
    '/shop/_index/app/json/i /shop/_design/app/_update/u /shop/_design/app/_update/u/doc /shop/_design /shop/_local',
  ],
  ['', '/shop/_design/app/_rewrite /shop/_design/app/_rewrite/a/b /shop/_design/app/_view /shop/_design/app/_unknown'],
  ['', '/shop/_partition /shop/_partition/p/_changes /shop/_partition/p/_design/app/_update/u /shop/_partition/p/doc'],
  ['', '/shop/_partition/p/_design/app /shop/_partition/p/_bulk_docs /shop/_find/x /shop/_changes/x /shop/_unknown'],
  ['', '/shop/_local/id/file /shop/_local/a%2Fb /shop/_all_docs/x /shop/_security/x /_all_dbs/x'],
  [
    '',
    '/ /_replicate /_session /_config /_node/_local/_config /_scheduler/jobs /_uuids /_up /_db_updates /_dbs /_nodes',
  ],
]
