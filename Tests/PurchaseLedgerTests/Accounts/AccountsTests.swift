import Foundation
import Support
import TestSupport
import Testing

@testable import Accounts
@testable import PurchaseLedger

@Suite(.ownThread) struct AccountsTests {
  /// Uses cheap hashes except in the test of the standard cost.
  private func accounts(_ test: TestLedger) -> Accounts {
    Accounts(ledger: test.ledger, cost: .init(rounds: 16, blockSize: 1, parallelism: 1))
  }

  /// Existing ledgers hold logins and hashes of passwords that Foundation normalised.
  @Test func textIsNormalisedAsFoundationDoes() {
    var random = SeededGenerator(seed: 20)
    // Hangul, Latin, Greek and Cyrillic with marks, ligatures, full width, squared and circled characters; without
    // what Foundation gets wrong, which textIsNormalisedByTheStandard has.
    let ranges: [ClosedRange<UInt32>] = [
      0x41...0x17F, 0x300...0x36F, 0x370...0x52F, 0x1E00...0x1FFF, 0x2070...0x218B, 0x2460...0x24FF, 0x3040...0x3098,
      0x309B...0x3130, 0x3190...0x31FF, 0x3220...0x325F, 0x3280...0x33FF, 0xAC00...0xD7A3, 0xF900...0xFAD9,
      0xFB00...0xFDFF, 0xFE70...0xFF9D, 0xFFE0...0xFFEE, 0x1D400...0x1D7FF,
    ]
    for round in 0..<3000 {
      let text = String(
        String.UnicodeScalarView(
          (0..<Int.random(in: 1...12, using: &random)).compactMap { _ in
            Unicode.Scalar(UInt32.random(in: ranges.randomElement(using: &random)!, using: &random))
          }))
      let expected = text.precomposedStringWithCompatibilityMapping
      #expect(
        Array(UnicodeForm.nfkc(text).unicodeScalars) == Array(expected.unicodeScalars),
        "\(round): \(text.unicodeScalars)")
    }
  }

  /// Jamo are joined, also half-width ones and those in circles, and marks are in the order of their classes (Unicode
  /// Standard Annex 15). Foundation leaves some jamo apart, and U+309A behind marks of a higher class.
  @Test(arguments: [
    ("\u{1100}\u{116D}", "\u{AD50}"), ("\u{AD18}\u{11C1}", "\u{AD32}"), ("\u{FFA1}\u{FFC2}", "\u{AC00}"),
    ("\u{326E}", "\u{AC00}"), ("\u{AF60}\u{303}\u{309A}", "\u{AF60}\u{309A}\u{303}"),
  ])
  func textIsNormalisedByTheStandard(_ text: String, _ expected: String) {
    #expect(Array(UnicodeForm.nfkc(text).unicodeScalars) == Array(expected.unicodeScalars))
  }

  @Test(arguments: [" \t\r\nAda\u{2003}L\u{3000}", "\u{85}\u{A0}Ada\u{2028}", "Ada", "\u{200B}Ada", "", " \n"])
  func whiteSpaceIsTrimmedAsFoundationDoes(_ text: String) {
    let expected = text.trimmingCharacters(in: .whitespacesAndNewlines)
    #expect(Array(text.trimmingWhitespace().unicodeScalars) == Array(expected.unicodeScalars))
  }

  @Test func anAccountIsFoundByLoginAndID() async throws {
    let test = try TestLedger()
    let accounts = accounts(test)
    let id = try await accounts.add(login: " Ada@Example.org ", password: "correct horse")
    #expect(try accounts.find("ada@example.org") == id)
    #expect(try accounts.find(id.description) == id)
    #expect(try accounts.find("nobody") == nil)
    #expect(try accounts.list().map(\.login) == ["ada@example.org"])
    await #expect(throws: LedgerError.self) {
      try await accounts.add(login: "ADA@example.org", password: "another one")
    }
    await #expect(throws: LedgerError.self) { try await accounts.add(login: "x", password: "short") }
    let token = try #require(try accounts.token(of: id))
    await #expect(throws: LedgerError.self) {
      try await accounts.add(login: "y", password: "long enough", token: token)
    }
    #expect(try accounts.list().count == 1)
  }

  /// Repeated sign-ins do not fill the ledger with sessions; the newest session is never ended.
  @Test func anAccountHasAtMostAHundredSessions() async throws {
    let test = try TestLedger()
    let accounts = accounts(test)
    let id = try await accounts.add(login: "ada", password: "correct horse")
    var tokens: [SessionToken] = []
    for _ in 0..<104 {
      tokens.append(try await accounts.signIn(login: "ada", password: "correct horse", lasting: 1000))
      #expect(try accounts.account(for: tokens.last!) == id)
    }
    #expect(try tokens.count { try accounts.account(for: $0) == id } == 100)
  }

  /// The length counts characters, not bytes.
  @Test(arguments: [
    ("пароль12", true), ("ääääääää", true), ("🗺🗺🗺🗺🗺🗺🗺🗺", true), (String(repeating: "ä", count: 1024), true),
    ("ääää", false), (String(repeating: "a\u{308}", count: 4), false), ("пароль1", false), ("🗺🗺", false),
    (String(repeating: "a", count: 1025), false),
  ])
  func passwordsAreCountedInCharacters(password: String, isTaken: Bool) async throws {
    let test = try TestLedger()
    let accounts = accounts(test)
    if isTaken {
      _ = try await accounts.add(login: "ada", password: password)
      for spelling in [password, password.decomposedStringWithCanonicalMapping] {
        _ = try await accounts.signIn(login: "ada", password: spelling, lasting: 1000)
      }
    } else {
      await #expect { try await accounts.add(login: "ada", password: password) } throws: {
        "\($0)".contains("8 to 1,024 characters")
      }
    }
  }

  /// Logins that look alike must not be different accounts.
  @Test(arguments: [
    "ada\u{202e}gro", "ada\u{2066}", "\u{200f}ada", "a\u{200b}da", "ada\u{7f}", "a\nda", "a\tda", "a\u{1b}[2Jda",
    "a\u{2028}da", "ada\u{feff}", "ada\u{61c}", "\u{0}", "ada\u{e000}",
  ])
  func loginsThatDoNotShowAreRefused(login: String) async throws {
    let test = try TestLedger()
    let accounts = accounts(test)
    await #expect { try await accounts.add(login: login, password: "correct horse") } throws: {
      ($0 as? LedgerError)?.code == .account
    }
    #expect(try accounts.list().isEmpty)
  }

  /// Letters of other scripts, phonetic ones, characters that show as nothing or as another one, damaged ones.
  @Test(arguments: [
    // Cyrillic alone, mixed with Latin, Greek, Armenian; digits beside them.
    "раура", "pаypal", "сосо7", "αιοp", "ονο", "օսօ", "ada.раура",
    // Latin, but phonetic.
    "ɑda", "ɡoogle", "ǀogin",
    // Default-ignorable, blank, symbols, other punctuation than ASCII's, two spaces.
    "a\u{3164}da", "ada\u{fe0f}", "a\u{34f}da", "ada\u{115f}", "ada\u{2800}", "ada\u{2019}s", "ada\u{2010}b",
    "a\u{b7}b",
    "ada  b", "🗺",
    // Marks without a letter, or too many.
    "\u{301}ada", "1\u{301}", "a\u{323}\u{324}\u{325}\u{326}\u{327}\u{328}",
    // Digits of two scripts; a rare script.
    "ada1\u{661}", "ꓮꓮꓮ", "Ꭺda",
    // Half a surrogate pair.
    "\u{fffd}", "ada\u{fffd}",
  ])
  func loginsThatLookAlikeAreRefused(login: String) async throws {
    let test = try TestLedger()
    let accounts = accounts(test)
    await #expect { try await accounts.add(login: login, password: "correct horse") } throws: {
      ($0 as? LedgerError)?.code == .account
    }
    #expect(try accounts.list().isEmpty)
  }

  @Test(arguments: [
    "ada@example.org", "o'brien", "ada lovelace", "jürgen", "çağlar", "анна", "владимир@пример.рф", "νίκος", "νικος",
    "משה", "محمد", "अनीता", "สมชาย", "김철수", "山田たろう", "suzuki鈴木", "ძია", "1234", "ada-1_2+x", "ñandú", "anna7",
  ])
  func loginsOfOneLanguageAreTaken(login: String) async throws {
    let test = try TestLedger()
    let accounts = accounts(test)
    let id = try await accounts.add(login: login, password: "correct horse")
    for spelling in [login, login.uppercased(), " \(login) ", login.decomposedStringWithCanonicalMapping] {
      #expect(try accounts.find(spelling) == id, "\(spelling)")
    }
    _ = try await accounts.signIn(login: login, password: "correct horse", lasting: 1000)
  }

  /// Spellings that fold to one are one login.
  @Test(arguments: [
    ("straße", "STRASSE"), ("ΟΔΟΣ", "οδος"), ("İnci", "inci"), ("ışık", "IŞIK"), ("ﬁnn", "FINN"), ("ＡＤＡ", "ada"),
  ])
  func spellingsAreOneLogin(first: String, second: String) async throws {
    let test = try TestLedger()
    let accounts = accounts(test)
    let id = try await accounts.add(login: first, password: "correct horse")
    #expect(try accounts.find(second) == id && accounts.find(first) == id)
    await #expect { try await accounts.add(login: second, password: "correct horse") } throws: {
      ($0 as? LedgerError)?.code == .loginTaken
    }
  }

  /// Accounts of earlier versions have logins that no new account gets; they sign in as ever.
  @Test(arguments: ["раура", "straße", "ada  b", "🗺", "\u{fffd}", "i\u{307}nci", "οδος", "pаypal"])
  func accountsOfEarlierVersionsKeepTheirLogins(stored: String) async throws {
    let test = try TestLedger()
    let accounts = accounts(test)
    let id = AccountID.random()
    let hash = try PasswordHash(of: "correct horse", cost: accounts.cost)
    try test.ledger.write { recorder in
      try recorder.append(.accountOpened(id, token: .random()))
      let account = try #require(try recorder.account(id: id))
      try Accounts.store(hash, of: account, id: id, login: stored, in: recorder)
    }
    #expect(try accounts.find(stored) == id && accounts.find(" \(stored)") == id)
    let session = try await accounts.signIn(login: stored, password: "correct horse", lasting: 1000)
    #expect(try accounts.account(for: session) == id)
    await #expect(throws: LedgerError.self) { try await accounts.add(login: stored, password: "correct horse") }
  }

  @Test func damagedPasswordsAreRefused() async throws {
    let test = try TestLedger()
    let accounts = accounts(test)
    await #expect { try await accounts.add(login: "ada", password: "\u{fffd}\u{fffd}345678") } throws: {
      "\($0)".contains("U+FFFD")
    }
  }

  /// Each change of the password has a greater generation, also within a millisecond and when the clock is set back; a
  /// hash of another cost is not a change.
  @Test func passwordsHaveGenerations() async throws {
    let test = try TestLedger()
    let cheap = accounts(test)
    let id = try await cheap.add(login: "ada", password: "correct horse")
    var last = try #require(try cheap.passwordGeneration(of: id))
    for password in ["battery staple", "correct horse"] {
      try await cheap.changePassword(of: id, to: password)
      let next = try #require(try cheap.passwordGeneration(of: id))
      #expect(next > last)
      last = next
    }
    _ = try await test.ledger.accounts.signIn(login: "ada", password: "correct horse", lasting: 1000)
    #expect(try test.count("SELECT rounds FROM credential") == 32_768 && cheap.passwordGeneration(of: id) == last)
    try await cheap.erase(id)
    #expect(try cheap.passwordGeneration(of: id) == nil)
  }

  @Test func sessionsOpenAndEnd() async throws {
    let test = try TestLedger()
    let accounts = accounts(test)
    let id = try await accounts.add(login: "ada", password: "correct horse")
    let first = try await accounts.signIn(login: "ada", password: "correct horse", lasting: 1000)
    let second = try await accounts.signIn(login: "ADA", password: "correct horse", lasting: 1000)
    #expect(first != second && first.text.utf8.count == 43)
    #expect(try accounts.account(for: first) == id && accounts.account(for: second) == id)
    #expect(try accounts.account(for: SessionToken("made up")) == nil)
    try await accounts.signOut(first)
    #expect(try accounts.account(for: first) == nil && accounts.account(for: second) == id)
    try await accounts.signOutEverywhere(id)
    #expect(try accounts.account(for: second) == nil)
    let short = try await accounts.signIn(login: "ada", password: "correct horse", lasting: 0)
    #expect(try accounts.account(for: short) == nil)
  }

  @Test func aWrongPasswordAndAnUnknownLoginGiveTheSameError() async throws {
    let test = try TestLedger()
    let accounts = accounts(test)
    _ = try await accounts.add(login: "ada", password: "correct horse")
    var messages: [String] = []
    for (login, password) in [("ada", "wrong horse"), ("bob", "correct horse"), ("", ""), ("ada", "")] {
      do { _ = try await accounts.signIn(login: login, password: password, lasting: 1000) } catch {
        messages.append("\(error)")
      }
    }
    #expect(messages.count == 4 && Set(messages).count == 1)
  }

  @Test func aChangedPasswordEndsSessionsAndRaisesTheCost() async throws {
    let test = try TestLedger()
    let cheap = accounts(test)
    let id = try await cheap.add(login: "ada", password: "correct horse")
    let session = try await cheap.signIn(login: "ada", password: "correct horse", lasting: 1000)
    try await cheap.changePassword(of: id, to: "battery staple")
    #expect(try cheap.account(for: session) == nil)
    await #expect(throws: LedgerError.self) {
      try await cheap.signIn(login: "ada", password: "correct horse", lasting: 1000)
    }
    // At the standard cost, to which the next sign-in upgrades the hash.
    _ = try await test.ledger.accounts.signIn(login: "ada", password: "battery staple", lasting: 1000)
    #expect(try test.count("SELECT rounds FROM credential") == 32_768)
    _ = try await test.ledger.accounts.signIn(login: "ada", password: "battery staple", lasting: 1000)
  }

  @Test func anErasureLeavesNoPersonalDataInTheFile() async throws {
    let test = try TestLedger()
    let accounts = accounts(test)
    let id = try await accounts.add(login: "ada.lovelace@example.org", password: "correct horse")
    let session = try await accounts.signIn(login: "ada.lovelace@example.org", password: "correct horse", lasting: 1000)
    try test.book(.sample(), as: id)
    #expect(contains("ada.lovelace", in: test))
    try await accounts.erase(id)
    #expect(!contains("ada.lovelace", in: test))
    #expect(try accounts.account(for: session) == nil && accounts.find(id.description) == nil)
    #expect(try accounts.list().map(\.login) == [nil])
    #expect(try accounts.list()[0].erasedAt == TestLedger.now)
    #expect(try test.ledger.entitlements(of: id).isEmpty)
    #expect(try test.count("SELECT count(*) FROM posting") == 1)
    await #expect(throws: LedgerError.self) { try await accounts.erase(id) }
    // The login can be used by another account.
    #expect(try await accounts.add(login: "ada.lovelace@example.org", password: "correct horse") != id)
    #expect(try test.ledger.verify().isClean)
  }

  /// Rows move between pages of a growing table and leave copies in free space.
  @Test func anErasureLeavesNoPersonalDataAmongManyAccounts() async throws {
    let test = try TestLedger()
    let accounts = accounts(test)
    // In random order, so that rows are inserted between others.
    func login(_ index: Int) -> String { "p\(index * 7919 % 1000).person-of-those-who-buy@example.org" }
    var ids: [AccountID] = []
    let hash = PasswordHash(salt: [1], hash: [2], cost: accounts.cost)
    for commit in 0..<8 {
      ids += try test.ledger.write { recorder in
        try (0..<50).map { index in
          let id = AccountID.random()
          try recorder.append(.accountOpened(id, token: .random()))
          let account = try #require(try recorder.account(id: id))
          try Accounts.store(hash, of: account, id: id, login: login(commit * 50 + index), in: recorder)
          return id
        }
      }
    }
    for index in stride(from: 3, to: 400, by: 40) {
      try await accounts.erase(ids[index])
      #expect(!contains(login(index), in: test), "\(index)")
    }
    #expect(contains(login(4), in: test))
    #expect(try test.ledger.verify().isClean)
  }

  private func contains(_ text: String, in test: TestLedger) -> Bool {
    ["ledger.sqlite", "ledger.sqlite-wal"].contains {
      (try? test.folder.bytes($0))?.range(of: Data(text.utf8)) != nil
    }
  }

  @Test func auditsKeepTheirOrderAndChangeNoProjection() async throws {
    let test = try TestLedger()
    let id = try await accounts(test).add(login: "ada", password: "correct horse")
    let before = try test.projections()
    for outcome in ["refused", "refused", "allowed"] {
      try await test.ledger.recordAudit(
        kind: "download", account: id, subject: "region.alps", outcome: outcome, detail: nil)
    }
    #expect(try test.projections() == before)
    let audits = try test.ledger.history(of: "region.alps")
    #expect(audits.count == 3)
    guard case .audit(_, let account, _, let outcome, _, _)? = audits.last?.content else {
      Issue.record("no audit")
      return
    }
    #expect(account == id && outcome == "allowed")
  }
}
