import Support

/// The tables, described in docs/reference/ledger-schema.md, Tables. The scratch database into which `verify` folds the
/// events has only the projections.
enum LedgerSchema {
  /// "MPLD" in the file's header.
  static let applicationID: Int32 = 0x4D50_4C44
  static let version: Int64 = 5
  /// The versions that `migrate` brings to the present one. Reading commands read them as they are.
  static let olderVersions: Set<Int64> = [3, 4]

  /// Creates the tables of a new ledger.
  static func create(_ db: SQLiteConnection) throws {
    try createPrimary(db)
    try createProjections(db)
    try db.execute("PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version)")
  }

  /// Brings a file of an older version to the present one, within a write transaction.
  static func migrate(_ db: SQLiteConnection) throws {
    // A process of the older version that still has the file open may have named its version again.
    try db.execute(questions.replacing("CREATE TABLE", with: "CREATE TABLE IF NOT EXISTS"))
    if try !db.hasTable("act") {
      try db.execute(
        """
        CREATE TEMP TABLE earlier AS SELECT * FROM main.entitlement;
        DROP TABLE main.entitlement;
        \(entitlement(version: version))
        INSERT INTO entitlement SELECT *, NULL FROM temp.earlier;
        DROP TABLE temp.earlier;
        \(aside)
        UPDATE store_transaction SET token = NULL, token_date = NULL WHERE token = zeroblob(16);
        UPDATE entitlement SET token = NULL WHERE token = zeroblob(16);
        """)
    }
    try db.execute("PRAGMA user_version = \(version)")
  }

  /// New in version 5: what stores say beside the facts, what operators did, and questions about refunds.
  private static let aside = """
    CREATE TABLE trait (
      store INTEGER, environment INTEGER, transaction_id TEXT, name TEXT, value TEXT NOT NULL, date INTEGER NOT NULL,
      PRIMARY KEY (store, environment, transaction_id, name)) WITHOUT ROWID;
    CREATE INDEX trait_value ON trait (name, value);
    CREATE TABLE act (
      seq INTEGER PRIMARY KEY, action TEXT NOT NULL, store INTEGER, environment INTEGER, transaction_id TEXT,
      account INTEGER, other INTEGER, subject TEXT, date INTEGER NOT NULL, until INTEGER);
    CREATE INDEX act_transaction ON act (transaction_id) WHERE transaction_id IS NOT NULL;
    CREATE INDEX act_account ON act (account, action) WHERE account IS NOT NULL;
    CREATE INDEX act_subject ON act (subject) WHERE subject IS NOT NULL;
    CREATE TABLE refund_question (
      store INTEGER, environment INTEGER, transaction_id TEXT, uuid TEXT, asked_at INTEGER NOT NULL,
      due_at INTEGER NOT NULL, answered INTEGER,
      PRIMARY KEY (store, environment, transaction_id, uuid)) WITHOUT ROWID;
    CREATE INDEX refund_question_uuid ON refund_question (uuid);
    """

  /// The version of an open file, which may be in the log and not yet in the header.
  static func version(of db: SQLiteConnection) throws -> Int64 {
    try db.prepare("PRAGMA user_version").first { $0.int64(0) } ?? 0
  }

  /// Lets the statements of this version read a file of an earlier one, which has less: what it lacks is empty.
  static func adapt(_ db: SQLiteConnection) throws {
    guard try version(of: db) < version, try !db.hasTable("act") else { return }
    try db.execute("CREATE TEMP VIEW entitlement AS SELECT *, NULL AS until FROM main.entitlement")
    try db.execute(
      aside.replacing("CREATE TABLE", with: "CREATE TEMP TABLE").replacing("CREATE INDEX ", with: "CREATE INDEX temp."))
  }

  static func entitlement(version: Int64) -> String {
    let until = version > 4
    return """
      CREATE TABLE entitlement (
        store INTEGER, environment INTEGER, original_id TEXT, account INTEGER, product_id TEXT NOT NULL,
        product_type TEXT NOT NULL, status INTEGER NOT NULL, reason TEXT NOT NULL, since INTEGER NOT NULL,
        refunded_milli INTEGER NOT NULL, token BLOB,\(until ? " until INTEGER," : "")
        PRIMARY KEY (store, environment, original_id)) WITHOUT ROWID;
      CREATE INDEX entitlement_account ON entitlement
        (account, product_id, product_type, status, reason, since, refunded_milli, token\(until ? ", until" : ""))
        WHERE account IS NOT NULL;
      CREATE INDEX entitlement_orphan ON entitlement (token) WHERE token IS NOT NULL;
      """
  }

  /// New in version 4: what failed of the questions to the stores, and who waits for an answer about a bare token.
  private static let questions = """
    CREATE TABLE failed_question (
      store INTEGER, environment INTEGER, kind INTEGER, id TEXT, attempts INTEGER NOT NULL,
      first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, next_at INTEGER, reason TEXT NOT NULL,
      PRIMARY KEY (store, environment, kind, id)) WITHOUT ROWID;
    CREATE TABLE claimant (
      store INTEGER, environment INTEGER, transaction_id TEXT, account BLOB, asked_at INTEGER NOT NULL,
      PRIMARY KEY (store, environment, transaction_id, account)) WITHOUT ROWID;
    """

  /// - Parameter version: The file's; an older one lacks tables.
  static func createPrimary(_ db: SQLiteConnection, version: Int64 = Self.version) throws {
    if version > 3 { try db.execute(questions) }
    try db.execute(
      """
      CREATE TABLE evidence_prefix (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL UNIQUE);
      CREATE TABLE evidence (
        id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL UNIQUE, kind INTEGER NOT NULL, outcome INTEGER NOT NULL,
        reason TEXT, received_at INTEGER NOT NULL, prefix_id INTEGER REFERENCES evidence_prefix, bytes BLOB NOT NULL,
        event INTEGER);
      CREATE INDEX evidence_quarantined ON evidence (id) WHERE outcome = 2;
      CREATE TABLE quarantined_transaction (
        store INTEGER, environment INTEGER, transaction_id TEXT, evidence BLOB NOT NULL,
        PRIMARY KEY (store, environment, transaction_id, evidence)) WITHOUT ROWID;
      CREATE INDEX quarantined_evidence ON quarantined_transaction (evidence);
      CREATE TABLE event (
        seq INTEGER PRIMARY KEY, type INTEGER NOT NULL, version INTEGER NOT NULL, recorded_at INTEGER NOT NULL,
        key BLOB NOT NULL UNIQUE, evidence BLOB, body BLOB NOT NULL, hash BLOB NOT NULL);
      CREATE TABLE credential (
        account INTEGER PRIMARY KEY, login TEXT NOT NULL UNIQUE, salt BLOB NOT NULL, hash BLOB NOT NULL,
        rounds INTEGER NOT NULL, block_size INTEGER NOT NULL, parallelism INTEGER NOT NULL,
        changed_at INTEGER NOT NULL);
      CREATE TABLE session (
        token_sha256 BLOB PRIMARY KEY, account INTEGER NOT NULL, opened_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL) WITHOUT ROWID;
      CREATE INDEX session_account ON session (account);
      CREATE TABLE store_snapshot (
        store INTEGER, environment INTEGER, transaction_id TEXT, digest BLOB NOT NULL, token BLOB,
        fact BLOB NOT NULL, evidence BLOB NOT NULL,
        PRIMARY KEY (store, environment, transaction_id)) WITHOUT ROWID;
      CREATE TABLE cursor (name TEXT PRIMARY KEY, value TEXT NOT NULL, updated_at INTEGER NOT NULL) WITHOUT ROWID;
      CREATE TABLE lookup (
        store INTEGER, environment INTEGER, transaction_id TEXT, product_id TEXT, purchase_token TEXT,
        asked_at INTEGER NOT NULL, rank INTEGER NOT NULL DEFAULT 0, source INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (store, environment, transaction_id)) WITHOUT ROWID;
      CREATE INDEX lookup_rank ON lookup (store, environment, source, rank DESC, asked_at) WHERE rank > 0;
      CREATE TABLE progress (
        run INTEGER PRIMARY KEY, command TEXT NOT NULL, input TEXT NOT NULL, position TEXT NOT NULL,
        started_at INTEGER NOT NULL, finished_at INTEGER);
      """)
  }

  /// The tables that `rebuild` recreates, with the primary keys in whose order `verify` compares them.
  static let projections: [(table: String, key: [String])] = [
    ("account", ["number"]),
    ("claim", ["store", "environment", "transaction_id", "seq"]),
    ("store_transaction", ["store", "environment", "transaction_id"]),
    ("entitlement", ["store", "environment", "original_id"]),
    ("posting", ["store", "environment", "transaction_id", "entry"]),
    ("policy", ["name"]),
    ("trait", ["store", "environment", "transaction_id", "name"]),
    ("act", ["seq"]),
    ("refund_question", ["store", "environment", "transaction_id", "uuid"]),
  ]

  /// Google's purchases that are not acknowledged. Written as one term, because with three terms SQLite compares the
  /// value bound to `store = ?` with the index's term `store = 2` and prepares the statement again at every run.
  static let isUnacknowledged = "(store = 2 AND acknowledged = 0 AND statement = 1) = 1"

  /// Google's purchases with an order id, and those known by their purchase token alone. One term each, as above.
  static let isOrder = "(store = 2 AND transaction_id <> purchase_token) = 1"
  static let isTokenOnly = "(store = 2 AND transaction_id = purchase_token) = 1"
  /// Tokens have about 150 characters; the last 12 are selective enough for an index.
  static let tokenEnd = "substr(purchase_token, -12)"

  /// - Parameter version: The file's; an older one lacks tables and a column.
  static func createProjections(_ db: SQLiteConnection, version: Int64 = Self.version) throws {
    try db.execute(entitlement(version: version) + (version > 4 ? aside : ""))
    try db.execute(
      """
      CREATE TABLE account (
        number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, token BLOB NOT NULL UNIQUE,
        opened_seq INTEGER NOT NULL, erased_seq INTEGER);
      CREATE INDEX account_erased ON account (erased_seq) WHERE erased_seq IS NOT NULL;
      CREATE TABLE claim (
        store INTEGER, environment INTEGER, transaction_id TEXT, seq INTEGER, account INTEGER NOT NULL,
        mode INTEGER NOT NULL, PRIMARY KEY (store, environment, transaction_id, seq)) WITHOUT ROWID;
      CREATE INDEX claim_account ON claim (account);
      CREATE TABLE store_transaction (
        store INTEGER, environment INTEGER, transaction_id TEXT, digest BLOB NOT NULL,
        token BLOB, token_date INTEGER, original_id TEXT NOT NULL, product_id TEXT NOT NULL,
        product_type TEXT NOT NULL, purchase_date INTEGER NOT NULL, expires_date INTEGER,
        quantity INTEGER NOT NULL, ownership TEXT NOT NULL, price_milli INTEGER, currency TEXT,
        reason TEXT NOT NULL, purchase_token TEXT, signed_date INTEGER NOT NULL, statement INTEGER NOT NULL,
        trust INTEGER NOT NULL, revocation_date INTEGER, revocation_reason TEXT, revocation_milli INTEGER,
        revocation_type TEXT, revocation_quantity INTEGER, voided BLOB, acknowledged INTEGER NOT NULL DEFAULT 0,
        described BLOB,
        PRIMARY KEY (store, environment, transaction_id)) WITHOUT ROWID;
      CREATE INDEX transaction_copies ON store_transaction (store, environment, original_id)
        WHERE transaction_id <> original_id;
      CREATE INDEX transaction_unacknowledged ON store_transaction (purchase_date) WHERE \(isUnacknowledged);
      CREATE INDEX transaction_order ON store_transaction (environment, \(tokenEnd)) WHERE \(isOrder);
      CREATE INDEX transaction_token_only ON store_transaction (environment) WHERE \(isTokenOnly);
      CREATE TABLE posting (
        store INTEGER, environment INTEGER, transaction_id TEXT, entry INTEGER, date INTEGER NOT NULL,
        debit INTEGER NOT NULL, credit INTEGER NOT NULL, amount INTEGER NOT NULL CHECK (amount >= 0),
        currency TEXT NOT NULL, PRIMARY KEY (store, environment, transaction_id, entry)) WITHOUT ROWID;
      CREATE TABLE policy (name TEXT PRIMARY KEY, value TEXT NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID;
      """)
  }
}
