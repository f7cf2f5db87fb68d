import Accounts
import Foundation
import PurchaseLedger
import StoreSimulators
import Support
import TestSupport
import Testing

/// Exit codes and messages.
@Suite(.ownThread) struct LedgerUsageTests {
  @Test func missingLedgerErrorNamesInit() throws {
    let folder = try TemporaryFolder()
    for arguments in [["verify"], ["rebuild"], ["entitlements", "a"], ["export"], ["reconcile"]] {
      let run = try Command(built: "purchase-ledger").run(arguments, in: folder.path)
      #expect(run.status == 3 && run.stderr.contains("ledger.sqlite") && run.stderr.contains("init"), "\(run)")
      #expect(folder.names.isEmpty)
    }
  }

  /// Logins that look like another account's, and passwords with fewer characters than bytes.
  @Test(arguments: [("ada\u{202e}gro", "long enough"), ("ada\u{1b}", "long enough"), ("ada", "пароль1")])
  func unusableLoginsAndPasswordsAreRefused(login: String, password: String) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("ledger.sqlite")
    #expect(try purchaseLedger("init", "--ledger", path).status == 0)
    let file = try folder.write("password", password)
    let run = try purchaseLedger("account", "add", login, "--password-file", file, "--ledger", path)
    #expect(run.status == 2 && run.stderr.contains("characters") && !run.stderr.contains("\u{202e}"), "\(run)")
    #expect(try purchaseLedger("account", "list", "--ledger", path).stdout.isEmpty)
  }

  @Test func rowsThatNoEventCoversAreCountedInWords() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("ledger.sqlite")
    let password = try folder.write("password", "a long password")
    #expect(try purchaseLedger("init", "--ledger", path).status == 0)
    #expect(try purchaseLedger("account", "add", "anna", "--password-file", password, "--ledger", path).status == 0)
    let run = try purchaseLedger("verify", "--ledger", path)
    #expect(run.status == 0 && run.stdout.contains("not in the chain: 1 row of credential\n"), "\(run)")
  }

  @Test func fileThatIsNoLedgerIsRefusedAndNotChanged() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("ledger.sqlite", "not a ledger")
    let run = try purchaseLedger("verify", "--ledger", path)
    #expect(run.status == 3 && run.stderr.contains(path), "\(run)")
    #expect(try purchaseLedger("init", "--ledger", path).status == 2)
    #expect(try folder.bytes("ledger.sqlite") == Data("not a ledger".utf8))
  }

  @Test(arguments: [
    ("{\"bundelId\": \"a\"}", "bundelId"), ("[]", "object"), ("{", "JSON"),
    ("{\"rootCertificates\": {}}", "rootCertificates"), ("{\"policy\": {\"absence\": \"revoke\"}}", "absence"),
    ("{\"apple\": {\"key\": \"a\"}}", "apple"), ("{\"environment\": \"moon\"}", "moon"),
    ("{\"now\": \"soon\"}", "soon"), ("{\"appAppleId\": \"x\"}", "appAppleId"),
    ("{\"rootCertificates\": [\"missing.der\"]}", "missing.der"),
    ("{\"googlePublicKeys\": [{\"key\": \"k\", \"until\": \"2026-02-30\"}]}", "googlePublicKeys: until"),
    ("{\"googlePublicKeys\": {\"key\": \"k\", \"form\": \"2026-01-01\"}}", "googlePublicKeys: form"),
    ("{\"googlePublicKeys\": [{\"from\": \"2026-01-01\"}]}", "c.json: googlePublicKeys"),
    (
      "{\"googlePublicKeys\": {\"key\": \"k\", \"from\": \"2026-02-01\", \"until\": \"2026-01-01\"}}",
      "ends on 2026-01-01"
    ),
    ("{\"policy\": 5}", "c.json: policy"), ("{\"apple\": 5}", "c.json: apple"), ("{\"ledger\": 5}", "c.json: ledger"),
    ("{\"google\": []}", "c.json: google"), ("{\"appAppleId\": -1}", "c.json: appAppleId"),
    ("{\"app-apple-id\": \"0\"}", "c.json: app-apple-id"), ("{\"now\": true}", "c.json: now"),
    ("{\"root-certificate\": [5]}", "c.json: root-certificate"), ("{\"bundle_id\": \"a\"}", "c.json: bundle_id"),
    ("{\"bundle-id\": \"a\", \"bundleId\": \"a\"}", "twice"),
    (
      "{\"policy\": {\"family-sharing\": \"grant\", \"family-sharing\": \"withhold\"}}",
      "policy.family-sharing: is given twice"
    ),
    ("{\"policy\": {\"family-sharing\": \"grant\"}, \"policy\": {}}", "policy: is given twice"),
    ("{\"apple\": {}, \"apple\": {}}", "apple: is given twice"),
    (
      "{\"environment\": \"sandbox\", \"policy\": {\"environment\": \"production\"}}",
      "policy environment is production"
    ),
  ])
  func wrongConfigurationNamesTheFileAndTheMember(_ text: String, naming name: String) throws {
    let folder = try TemporaryFolder()
    let run = try purchaseLedger("init", "--config", try folder.write("c.json", text), "--ledger", folder.file("l"))
    #expect(run.status == 2 && run.stderr.contains(name), "\(run)")
    #expect(folder.names == ["c.json"])
  }

  /// Names in the spelling of flags, and in that of the documentation.
  @Test(arguments: [
    "\"root-certificate\": \"root.der\", \"bundle-id\": \"ID\", \"app-apple-id\": 9, \"package-name\": \"PACKAGE\"",
    "\"rootCertificate\": [\"root.der\"], \"bundleId\": \"ID\", \"appAppleId\": \"9\", \"packageName\": \"PACKAGE\"",
  ])
  func configurationNamesMayBeSpelledAsFlags(_ options: String) throws {
    let shop = try LedgerShop(buyers: 2)
    try shop.makeLedger()
    let text = "\u{feff}{\(options), \"ledger\": \"ledger.sqlite\", \"now\": \(ShopGenerator.end)}"
      .replacing("ID", with: ShopGenerator.bundleID).replacing("PACKAGE", with: ShopGenerator.packageName)
      .replacing("9,", with: "\(ShopGenerator.appAppleID),")
      .replacing("\"9\"", with: "\"\(ShopGenerator.appAppleID)\"")
    let config = try shop.folder.write("flags.json", text)
    let run = try purchaseLedger("import", shop.folder.file("evidence.jsonl"), "--config", config)
    #expect([0, 1].contains(run.status) && run.stdout.contains(" accepted"), "\(run)")
  }

  @Test func environmentOptionAndPolicyMustAgree() throws {
    let folder = try TemporaryFolder()
    let ledger = folder.file("l")
    for arguments in [
      ["--environment", "sandbox", "--policy", "environment=production"],
      ["--environment", "production", "--policy", "environment=sandbox"],
    ] {
      let run = try Command(built: "purchase-ledger").run(["init", "--ledger", ledger] + arguments)
      #expect(run.status == 2 && run.stderr.contains("environment"), "\(run)")
    }
    #expect(folder.names.isEmpty)
    let agreeing = ["init", "--ledger", ledger, "--environment", "sandbox", "--policy", "environment=sandbox"]
    #expect(try Command(built: "purchase-ledger").run(agreeing).status == 0)
  }

  @Test func oneOfSeveralConcurrentInitsMakesTheLedger() throws {
    let command = try Command(built: "purchase-ledger")
    for _ in 0..<3 {
      let folder = try TemporaryFolder()
      let children = try (0..<4).map { _ in try command.start(["init", "--ledger", folder.file("l")]) }
      let runs = children.map { $0.wait() }
      #expect(runs.filter { $0.status == 0 && $0.stdout.contains("a new ledger") }.count == 1, "\(runs)")
      #expect(runs.filter { $0.status == 2 && $0.stderr.contains("the file exists already") }.count == 3, "\(runs)")
      #expect(folder.names == ["l"])
      #expect(try command.run(["verify", "--ledger", folder.file("l")]).status == 0)
    }
  }

  /// After a kill there is a complete ledger or none, and `init` can be run again.
  @Test func killedInitLeavesACompleteLedgerOrNone() throws {
    try expectCompleteLedgerOrNone(afterMicroseconds: [0, 10_000, 30_000])
  }

  @Test(.long) func initKilledAtManyInstantsLeavesACompleteLedgerOrNone() throws {
    try expectCompleteLedgerOrNone(afterMicroseconds: Array(stride(from: 0, to: 60_000, by: 3_000)))
  }

  private func expectCompleteLedgerOrNone(afterMicroseconds delays: [Int]) throws {
    let command = try Command(built: "purchase-ledger")
    for delay in delays {
      let folder = try TemporaryFolder()
      let arguments = ["init", "--ledger", folder.file("l")]
      let child = try command.start(arguments)
      // A process of a debug build takes some ten milliseconds until it makes the file.
      _ = child.wait(timeout: 20) { !folder.names.isEmpty }
      usleep(UInt32(delay))
      child.send(SIGKILL)
      _ = child.wait()
      let isThere = folder.names.contains("l")
      #expect(try command.run(arguments).status == (isThere ? 2 : 0), "after \(delay) us: \(folder.names)")
      #expect(try command.run(["verify", "--ledger", folder.file("l")]).status == 0, "after \(delay) us")
      #expect(!folder.names.contains { $0.contains("unfinished") }, "after \(delay) us: \(folder.names)")
    }
  }

  @Test func folderAsLedgerIsRefused() throws {
    let folder = try TemporaryFolder()
    for arguments in [["verify"], ["init"], ["import", "-"], ["rebuild"]] {
      let run = try Command(built: "purchase-ledger").run(arguments + ["--ledger", folder.path])
      #expect(run.status == 3 && run.stderr.contains("\(folder.path): is a folder; name"), "\(run)")
    }
  }

  /// The findings are lost with the output.
  @Test func unwritableStandardOutputIsAFailure() throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    let refused = try shop.folder.write("refused", "a.b.c")
    let program = try Command(built: "purchase-ledger").path
    for arguments in [
      "inspect \(refused)", "import \(refused) --json", "reconcile --against \(shop.folder.file("store.jsonl"))",
      "verify", "export",
    ] {
      let line = "\(program) \(arguments) --config \(shop.folder.file("config.json")) > /dev/full"
      let run = try Command(path: "/bin/sh").run(["-c", line])
      #expect(run.status == 3 && run.stderr.contains("standard output"), "\(arguments): \(run)")
    }
  }

  @Test func flagsWinOverTheEnvironmentAndItOverTheFile() throws {
    let folder = try TemporaryFolder()
    let config = try folder.write("c.json", "{\"ledger\": \"of-the-file\"}")
    let command = try Command(built: "purchase-ledger")
    let variables = ["PURCHASE_LEDGER_LEDGER": folder.file("of-the-environment")]
    #expect(try command.run(["init", "--config", config]).status == 0)
    #expect(try command.run(["init", "--config", config], environment: variables).status == 0)
    let flag = ["init", "--config", config, "--ledger", folder.file("of-the-flag")]
    #expect(try command.run(flag, environment: variables).status == 0)
    for name in ["of-the-file", "of-the-environment", "of-the-flag"] { #expect(folder.names.contains(name)) }
  }

  @Test func importNeedsTheAppAndItsRootCertificate() throws {
    let shop = try LedgerShop(buyers: 2)
    try shop.makeLedger()
    let run = try purchaseLedger(
      "import", shop.folder.file("evidence.jsonl"), "--ledger", shop.ledgerPath, "--root-certificate",
      shop.folder.file("root.der"), "--now", "\(ShopGenerator.end)")
    let remedy = "; configure it: --bundle-id, or bundleId in the configuration file\n"
    #expect(run.status == 2 && run.stderr.hasSuffix(remedy), "\(run)")
    #expect(try shop.run("export").stdoutLines.allSatisfy { !$0.contains("\"type\":\"transaction\"") })
    // Checked before evidence is verified, which would refuse every line.
    let rootless = try purchaseLedger(
      "import", shop.folder.file("evidence.jsonl"), "--ledger", shop.ledgerPath, "--bundle-id", ShopGenerator.bundleID)
    #expect(rootless.status == 2 && rootless.stderr.contains("--root-certificate"), "\(rootless)")
  }

  @Test func quarantinedEvidenceIsListedAndDismissed() throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    // Apple's server was not available, which says nothing about the evidence.
    let answers = try shop.folder.write("answers.jsonl", "{\"status\":21005}\n{\"status\":21009}\n")
    #expect(try shop.run("import", answers).status == 1)
    let lines = try shop.run("dismiss", "--list").stdoutLines.map(String.init)
    let hash = String(try #require(lines.first).prefix(64))
    let wrong = try shop.run("dismiss", "zz", "--because", "x")
    #expect(wrong.status == 2 && wrong.stderr.contains("--list"), "\(wrong)")
    #expect(try shop.run("dismiss", hash).status == 64)
    let run = try shop.run("dismiss", String(hash.prefix(20)), "--because", "the store was asked again", "--json")
    #expect(run.status == 0 && run.stdout.contains("\"dismissed\":true"), "\(run)")
    #expect(try shop.run("dismiss", "--list").stdoutLines.count == 1)
    #expect(try shop.run("reconcile", "--json").stdout.contains("or dismiss it"))
    #expect(try shop.run("dismiss", hash, "--because", "x").status == 2)
    #expect(try shop.run("export").stdout.contains("evidence.dismissed"))
    #expect(try shop.run("rebuild").status == 0 && shop.run("verify").status == 0)
    // Submitted again, it is verified and refused again.
    let again = try shop.run("import", answers, "--report", "json")
    #expect(again.stdout.contains("quarantined"), "\(again)")
  }

  @Test func environmentOtherThanTheLedgersIsRefused() throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    let run = try shop.run("import", shop.folder.file("evidence.jsonl"), "--environment", "sandbox")
    #expect(run.status == 2 && run.stderr.contains("environment"), "\(run)")
  }

  @Test func unreadableInputIsNamed() throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    let run = try shop.run("import", shop.folder.file("missing.jsonl"))
    #expect(run.status == 2 && run.stderr.contains("missing.jsonl"), "\(run)")
    #expect(run.stderr.contains(": no such file or directory; check the name"), "\(run)")
    let missing = try shop.run("inspect", shop.folder.file("missing"))
    #expect(missing.status == 2 && missing.stderr.contains(": no such file or directory; "), "\(missing)")
    let folder = try shop.run("inspect", shop.folder.path)
    #expect(folder.status == 2 && folder.stderr.contains("\(shop.folder.path): is a folder; "), "\(folder)")
    let pull = try shop.run("pull", "--store", "apple")
    #expect(pull.status == 2 && pull.stderr.contains("apple.privateKey"), "\(pull)")
  }

  /// Without them everything would be refused, and the next pull would start after it.
  @Test func pullNeedsTheOptionsThatVerifyItsAnswers() throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    try shop.folder.write("key.p8", "no key")
    let apple = "\"apple\": {\"issuerId\": \"i\", \"keyId\": \"k\", \"privateKey\": \"key.p8\"}"
    for (file, missing) in [
      ("{\"bundleId\": \"org.example.maps\", \"appAppleId\": \"1\", \(apple)}", "rootCertificates"),
      ("{\"bundleId\": \"org.example.maps\", \"rootCertificates\": [\"root.der\"], \(apple)}", "appAppleId"),
      ("{\"appAppleId\": \"1\", \"rootCertificates\": [\"root.der\"], \(apple)}", "bundleId"),
    ] {
      try shop.folder.write("pull.json", file)
      let run = try purchaseLedger(
        "pull", "--store", "apple", "--ledger", shop.ledgerPath, "--config", shop.folder.file("pull.json"))
      #expect(run.status == 2 && run.stderr.contains(missing), "\(run)")
    }
  }

  @Test func importQuarantinedVerifiesQuarantinedEvidenceAgain() throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    let answers = try shop.folder.write("answers.jsonl", "{\"status\":21005}\n")
    #expect(try shop.run("import", answers).status == 1)
    let run = try shop.run("import", "--quarantined", "--report", "json")
    #expect(run.status == 1 && run.stdoutLines.count == 1 && run.stdout.contains("retry-later"), "\(run)")
    #expect(run.stdout.contains("\"source\":\"quarantine\""))
  }

  /// A typing error must not record something else.
  @Test(arguments: [
    ("\"acount\": \"anna\"", "\"acount\"", "account"), ("\"intent\": \"refesh\"", "\"refesh\"", "refresh"),
    ("\"environment\": \"Prodution\"", "\"Prodution\"", "Production"),
    ("\"kind\": \"recipt\"", "\"recipt\"", "receipt"), ("\"productId\": {}", "\"productId\"", "text"),
    ("\"intent\": \"restore\", \"intent\": \"refresh\"", "\"intent\"", "twice"),
    ("\"evidence\": \"a.b.d\"", "\"evidence\"", "twice"),
  ])
  func wrapperWithUnknownMembersIsRefusedByName(_ member: String, _ name: String, _ remedy: String) throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    let signed = String(decoding: try #require(shop.shop.evidence.first { $0.starts(with: "eyJ".utf8) }), as: UTF8.self)
    let line = "{\"evidence\": \"\(signed)\", \(member)}\n{\"evidence\": \"\(signed)\", \"account\": null}\n"
    let run = try shop.run("import", try shop.folder.write("line.jsonl", line), "--json")
    let answers = try run.stdoutLines.map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(answers.map { $0["outcome"] as? String } == ["refused", "accepted"], "\(run)")
    let message = try #require(answers.first?["message"] as? String)
    #expect(answers[0]["reason"] as? String == "malformed" && message.contains(name) && message.contains(remedy))
  }

  /// Programs find the mistake by its code, people by the option.
  @Test func missingOptionsHaveACodeAndAreNamed() throws {
    let shop = try LedgerShop(buyers: 1)
    let signed = try #require(shop.shop.evidence.first { $0.starts(with: "eyJ".utf8) })
    for (evidence, code, option) in [
      (String(decoding: signed, as: UTF8.self), "no-root-certificate", "--root-certificate"),
      (
        #"{"INAPP_PURCHASE_DATA": "{}", "INAPP_DATA_SIGNATURE": "AAAA"}"#, "no-licensing-key",
        "googlePublicKey in the configuration file"
      ),
      (#"{"something": "else"}"#, "unknown-kind", "--as"),
    ] {
      let file = try shop.folder.write("evidence", evidence)
      let text = try purchaseLedger("inspect", file)
      #expect(text.status == 1 && text.stdout.hasPrefix("refused: \(code): "), "\(text)")
      #expect(text.stdout.hasSuffix(" (\(option))\n"), "\(text)")
      let json = try JSONValue(parsing: Array(purchaseLedger("inspect", file, "--json").stdout.utf8))
      #expect(json["reason"] == .string(code) && json["message"]?.string?.hasSuffix(" (\(option))") == true, "\(json)")
    }
  }

  @Test func policyGivenTwiceIsRefused() throws {
    let folder = try TemporaryFolder()
    let run = try purchaseLedger(
      "init", "--ledger", folder.file("l"), "--policy", "second-claim=refuse", "--policy", "second-claim=transfer")
    #expect(run.status == 2 && run.stderr.contains("policy second-claim") && run.stderr.contains("twice"), "\(run)")
    #expect(folder.names.isEmpty)
  }

  @Test(arguments: [
    "correct horse\r\nsecond line\r\n", "correct horse\nsecond line\n", "correct horse\r\n", "correct horse",
  ])
  func passwordIsTheFirstLineWithAnyLineEnd(_ text: String) async throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    let file = try shop.folder.write("password", text)
    let added = try shop.run("account", "add", "anna@example.org", "--password-file", file)
    #expect(added.status == 0, "\(added)")
    let ledger = try Ledger.openToRead(at: shop.ledgerPath, clock: .fixed(ShopGenerator.end))
    let id = try #require(try ledger.accounts.find("anna@example.org"))
    let accounts = try Ledger.open(at: shop.ledgerPath, policy: nil, clock: .fixed(ShopGenerator.end)).accounts
    let session = try await accounts.signIn(login: "anna@example.org", password: "correct horse", lasting: 1000)
    #expect(try accounts.account(for: session) == id)
    let empty = try shop.run(
      "account", "add", "b@example.org", "--password-file", try shop.folder.write("empty", "\r\nsecret line\r\n"))
    #expect(empty.status == 2 && empty.stderr.contains("holds no password"), "\(empty)")
  }

  /// Unsigned text may contain anything, but its control characters do not reach the terminal.
  @Test func textFromEvidenceIsEscapedInOutput() throws {
    let hostile = #"\u001b[2J\r\nvalid\u007f\u009b31m\u202e\u2066"#
    let message = """
      {"version": "1.0", "packageName": "\(ShopGenerator.packageName)", "eventTimeMillis": "1770000000000",
       "voidedPurchaseNotification": {"orderId": "GPA.1", "purchaseToken": "t", "refundType": "\(hostile)"}}
      """
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    let file = try shop.folder.write("message.json", message)
    let runs = try [
      shop.run("inspect", file), shop.run("inspect", file, "--json"), shop.run("import", file, "--json"),
      shop.run("history", "GPA.1"), shop.run("history", "GPA.1", "--json"), shop.run("export"),
    ]
    for run in runs {
      #expect(run.status == 0, "\(run)")
      let isClean = run.stdout.unicodeScalars.allSatisfy {
        $0 == "\n" || !($0.properties.generalCategory == .control || $0.properties.generalCategory == .format)
      }
      #expect(isClean && !run.stdoutLines.contains { $0.hasPrefix("valid\\u007f") }, "\(run)")
    }
    #expect(runs[3].stdoutLines.count == 1)
    #expect(runs[3].stdout.contains(#"\u001b[2J\r\nvalid\u007f\u009b31m\u202e\u2066"#))
    // JSON has the unescaped text.
    let said = try #require(try JSONSerialization.jsonObject(with: Data(runs[1].stdout.utf8)) as? [String: Any])
    let subtype = (said["notification"] as? [String: Any])?["subtype"] as? String
    #expect(subtype == "\u{1b}[2J\r\nvalid\u{7f}\u{9b}31m\u{202e}\u{2066}")
  }

  @Test func everyUnusableLineIsRefusedByItself() throws {
    let shop = try LedgerShop(buyers: 1)
    try shop.makeLedger()
    let file = try shop.folder.write("garbage", "a.b.c\n{\"evidence\": \"x\", \"account\": \"nobody\"}\n\n{}\n")
    let run = try shop.run("import", file, "--report", "json")
    #expect(run.status == 1, "\(run)")
    #expect(run.stdoutLines.count == 3 && run.stdout.contains("no-such-account"), "\(run)")
    #expect(run.stdout.contains("\"line\":4"))
  }

  @Test(arguments: [
    ["import"], ["nonsense"], ["reconcile", "--report", "xml"], ["demo", "--buyers", "0"], ["init", "--policy", "x"],
    ["reconcile", "--json", "--report", "csv"], ["reconcile", "--json", "--report", "text"],
    ["export", "--json", "--format", "hledger"], ["import", "-", "--json", "--report", "text"],
    ["verify", "--head", "x"],
  ])
  func wrongUsageExitsWith64(_ arguments: [String]) throws {
    let run = try Command(built: "purchase-ledger").run(arguments)
    #expect(run.status == 64, "\(run)")
    // Not that of the root.
    let isNamed = run.stderr.contains("Usage: purchase-ledger \(arguments[0]) ")
    #expect(isNamed || run.stderr.contains("there is no command"), "\(run)")
  }

  /// Spellings of old notifications are none of options.
  @Test func anEnvironmentIsGivenByItsName() throws {
    let folder = try TemporaryFolder()
    for words in [["--environment", "prod"], ["--policy", "environment=prod"]] {
      let run = try Command(built: "purchase-ledger").run(["init"] + words, in: folder.path)
      #expect(run.status == 2 && run.stderr.contains("production") && run.stderr.contains("sandbox"), "\(run)")
    }
    #expect(folder.names.isEmpty)
    #expect(try purchaseLedger("init", "--environment", "Production", in: folder.path).status == 0)
  }

  /// Found while the command works, where the argument parser would show the root's usage.
  @Test func aWrongTokenIsAnsweredWithTheUsageOfTheCommand() throws {
    let folder = try TemporaryFolder()
    let run = try Command(built: "purchase-ledger").run(["account", "add", "ada", "--token", "x"], in: folder.path)
    #expect(run.status == 64 && run.stderr.contains("Error: --token must be a UUID, not x\n"), "\(run)")
    #expect(run.stderr.contains("Usage: purchase-ledger account add "), "\(run)")
    #expect(run.stderr.hasSuffix("See 'purchase-ledger account add --help' for more information.\n"), "\(run)")
  }

  @Test func progressJSONEndsWithTheTotal() throws {
    let shop = try LedgerShop(buyers: 2)
    try shop.makeLedger()
    let run = try shop.run("import", shop.folder.file("evidence.jsonl"), "--progress", "json")
    let line = try #require(run.stderrLines.last, "\(run)")
    let value = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    #expect(value["unit"] as? String == "pieces" && value["done"] as? Int == shop.shop.evidence.count, "\(run)")
    #expect(value["bytes"] as? Int == value["bytesTotal"] as? Int && value["bytes"] is Int, "\(run)")
    #expect(value["secondsLeft"] as? Double == 0 && (value["perSecond"] as? Double ?? 0) > 0)
  }
}
