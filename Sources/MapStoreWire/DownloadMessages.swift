/// `POST /v1/downloads`: asks for the URL of a file of a region that the account owns.
public struct DownloadRequest: Sendable, Hashable, Codable {
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable { case bundle, parcel, patch }

  public var regionId: String
  public var kind: Kind
  /// The edition that is wanted; 409 `edition-gone` when the shelf has another. Nil takes what there is.
  public var edition: String?
  /// A parcel's file, as the region's details name it.
  public var file: String?
  /// For a patch: the edition that is installed.
  public var fromEdition: String?

  public init(
    regionId: String, kind: Kind, edition: String? = nil, file: String? = nil, fromEdition: String? = nil
  ) {
    self.regionId = regionId
    self.kind = kind
    self.edition = edition
    self.file = file
    self.fromEdition = fromEdition
  }
}

/// Answer (201). The URL answers GET and HEAD with `Range` and `If-Range`, without a session. Its `ETag` is the SHA-256 in quotes, so that a download can be resumed
/// through a newer URL.
public struct DownloadTicket: Sendable, Hashable, Codable {
  /// Absolute when the server knows its public address, else a path with query.
  public var url: String
  /// Milliseconds since 1970. A transfer that has begun by then goes on.
  public var expiresAt: Int64
  public var regionId: String
  /// The edition that the file is of, or leads to.
  public var edition: String
  public var file: String
  public var bytes: Int
  /// 64 hexadecimal digits in lower case.
  public var sha256: String

  public init(
    url: String, expiresAt: Int64, regionId: String, edition: String, file: String, bytes: Int, sha256: String
  ) {
    self.url = url
    self.expiresAt = expiresAt
    self.regionId = regionId
    self.edition = edition
    self.file = file
    self.bytes = bytes
    self.sha256 = sha256
  }
}
