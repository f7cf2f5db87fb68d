import NIOSSL
import Support

/// Reads the certificate and the key.
enum TLSFiles {
  /// - Throws: ``ServeError`` with `.invalidOption` that names the file.
  static func context(_ files: TileServerOptions.TLS) throws -> NIOSSLContext {
    let (chainBytes, keyBytes) = (try bytes(files.certificatePath), try bytes(files.keyPath))
    let chain: [NIOSSLCertificate]
    do {
      chain = try NIOSSLCertificate.fromPEMBytes(chainBytes)
    } catch {
      throw ServeError(
        .invalidOption, "\(files.certificatePath): is no PEM file with certificates (\(error))",
        remedy: "name the chain")
    }
    let key: NIOSSLPrivateKey
    do {
      key = try NIOSSLPrivateKey(bytes: keyBytes, format: .pem)
    } catch {
      throw ServeError(
        .invalidOption, "\(files.keyPath): is no PEM file with a private key (\(error))",
        remedy: "name the certificate's")
    }
    do {
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
      // Older versions are deprecated by RFC 8996.
      configuration.minimumTLSVersion = .tlsv12
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw ServeError(
        .invalidOption, "\(files.certificatePath) and \(files.keyPath) do not belong together (\(error))")
    }
  }

  private static func bytes(_ path: String) throws -> [UInt8] {
    do {
      return try FileSystem.bytes(of: path, countMax: 16 << 20)
    } catch {
      throw ServeError(.invalidOption, "\(path): cannot be read: \(error)", remedy: "check the name and permissions")
    }
  }
}
