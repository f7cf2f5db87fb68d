import Foundation
import MapStoreWire
import PurchaseLedger

/// Customers with accounts at the running store.
struct Customers {
  let folder: String
  let port: Int

  /// Each owns twenty regions; the sets differ.
  private static let regionsEach = 20
  /// The first customers also own the large region, and have links to it.
  private static let largeOwners = 16

  /// Opens accounts and posts purchases for them, which ``Buyers`` does not post again.
  func register(_ count: Int) throws {
    let connection = try KeepAliveConnection(port: port)
    var purchases = try Purchase.all(in: folder)
    var lines = ""
    for number in 0..<count {
      let credentials = try WireJSON.encode(Credentials(login: "customer-\(number)", password: "a long password"))
      _ = try connection.post(StoreRoute.register.path, credentials).expecting(201)
      let answer = try connection.post(StoreRoute.signIn.path, credentials).expecting(201)
      let session = try WireJSON.decode(SessionDetails.self, from: answer)
      let owned = try Self.regions(of: number).map { region in
        guard let purchase = purchases.removeLast(where: { $0.region == region }) else {
          throw StoreBench.Failure(description: "too few purchases of region \(region): prepare more of them")
        }
        return purchase
      }
      let submission = PurchaseSubmission(transactions: owned.map(\.signed))
      _ = try connection.post(StoreRoute.purchases.path, token: session.token, WireJSON.encode(submission)).expecting(
        200)
      lines += "\(session.token) \(session.account.id)\n"
    }
    try lines.write(toFile: "\(folder)/tokens", atomically: true, encoding: .utf8)
    try Purchase.write(purchases, in: folder)
  }

  private static func regions(of customer: Int) -> [Int] {
    let step = BenchStore.regionCount - 1
    let others = (0..<regionsEach).map { 1 + (customer * 7 + $0 * (1 + customer / step % 5)) % step }
    return customer < largeOwners ? [0] + others.dropLast() : others
  }

  /// Writes library requests of customers in turn, each from several devices with different installed regions and
  /// editions. No two are the same.
  func writeQuestions(_ count: Int) throws {
    let tokens = try Self.tokens(in: folder)
    let lines = (0..<count).map { number in
      let (customer, device) = (number % tokens.count, number / tokens.count)
      // The bits of the device's number select the installed regions and their editions.
      let installed = Self.regions(of: customer).prefix(10).enumerated().compactMap { place, region -> String? in
        guard place == 0 || device >> (place - 1) & 1 == 1 else { return nil }
        return "\(BenchStore.region(region))@\(device >> place & 1 == 0 ? "2026.1" : "2025.\(place)")"
      }
      return "\(tokens[customer].token) \(StoreRoute.library.path)?installed=\(installed.joined(separator: ","))\n"
    }
    try lines.joined().write(toFile: "\(folder)/questions", atomically: true, encoding: .utf8)
  }

  /// Writes links to the large bundle, for the customers who own it in turn.
  func fetchLinks(_ count: Int) throws {
    let connection = try KeepAliveConnection(port: port)
    let tokens = try Self.tokens(in: folder)
    let request = try WireJSON.encode(DownloadRequest(regionId: BenchStore.region(0), kind: .bundle))
    var links = ""
    for number in 0..<count {
      let answer = try connection.post(
        StoreRoute.downloads.path, token: tokens[number % min(tokens.count, Self.largeOwners)].token, request
      ).expecting(201)
      links += try WireJSON.decode(DownloadTicket.self, from: answer).url + "\n"
    }
    try links.write(toFile: "\(folder)/links", atomically: true, encoding: .utf8)
  }

  static func tokens(in folder: String) throws -> [(token: String, account: String)] {
    try String(contentsOfFile: "\(folder)/tokens", encoding: .utf8).split(separator: "\n").map { line in
      let words = line.split(separator: " ").map(String.init)
      return (words[0], words[1])
    }
  }
}

/// A line of `signed`.
struct Purchase {
  let id: String
  let signed: String
  /// The number of its region.
  var region: Int { (Int(id)! - 2_000_000_000_000) / 7 % BenchStore.regionCount }

  static func all(in folder: String) throws -> [Self] {
    try String(contentsOfFile: "\(folder)/signed", encoding: .utf8).split(separator: "\n").map { line in
      let words = line.split(separator: " ").map(String.init)
      return Self(id: words[0], signed: words[1])
    }
  }

  static func write(_ purchases: [Self], in folder: String) throws {
    try purchases.map { "\($0.id) \($0.signed)\n" }.joined()
      .write(toFile: "\(folder)/signed", atomically: true, encoding: .utf8)
  }
}

extension KeepAliveConnection.Answer {
  func expecting(_ status: Int) throws -> [UInt8] {
    guard self.status == status else {
      throw StoreBench.Failure(description: "\(self.status): \(String(decoding: body, as: UTF8.self))")
    }
    return body
  }
}

extension Array {
  fileprivate mutating func removeLast(where matches: (Element) -> Bool) -> Element? {
    lastIndex(where: matches).map { remove(at: $0) }
  }
}
